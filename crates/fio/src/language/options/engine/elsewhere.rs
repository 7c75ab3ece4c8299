//! Options of engines that are not supported, and what no engine does here: they are known, so that they can be refused by name.

use super::WHOLE;
use crate::language::options::entry::missing;
use crate::language::options::option::{Form, Opt};

const fn command(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "NVMe commands are not supported: use ioengine=io_uring on the block device")
        .of(&["io_uring_cmd"])
}

const fn placed(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "placement of data on NVMe devices is not supported: remove it")
        .of(&["io_uring_cmd", "xnvme"])
}

const fn scsi(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "SCSI commands are not supported: use ioengine=io_uring on the block device")
        .of(&["sg"])
}

const fn host(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "networks are not supported: use iperf3").of(&[
        "net",
        "netsplice",
        "rdma",
        "libhdfs",
    ])
}

const fn net(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "networks are not supported: use iperf3").of(&["net", "netsplice"])
}

const fn rdma(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "RDMA is not supported: use perftest (ib_write_bw)").of(&["rdma"])
}

const fn librpma(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "RDMA is not supported: use perftest (ib_write_bw)").of(&[
        "librpma_apm_client",
        "librpma_apm_server",
        "librpma_gpspm_client",
        "librpma_gpspm_server",
    ])
}

const fn ceph(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(
        name,
        form,
        help,
        "Ceph is not supported: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"])
}

const fn elsewhere(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "neither DAOS nor Hadoop is built: use io_uring on a mounted file system")
        .of(&["dfs", "libhdfs"])
}

const fn http(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "object stores are not supported: use warp or s3-benchmark").of(&["http"])
}

const fn gluster(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "GlusterFS is supported only through a mount: use files on it")
        .of(&["gfapi", "gfapi_async"])
}

const fn gpu(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "GPUDirect storage is not supported: use io_uring with direct=1")
        .of(&["libcufile"])
}

const fn xnvme(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "xNVMe is not supported: use io_uring on the block device").of(&["xnvme"])
}

const fn blkio(name: &'static str, form: Form, help: &'static str) -> Opt {
    missing(name, form, help, "libblkio is not supported: use io_uring on the block device").of(&["libblkio"])
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    command("cmd_type", Form::Choice(&["nvme"]), "Kind of the commands."),
    command("md_per_io_size", Form::Size, "Metadata of an operation."),
    command("pi_act", WHOLE, "Action for protection information."),
    command("pi_chk", Form::Text, "Which protection information is checked."),
    command("apptag", WHOLE, "Application tag of the protection information."),
    command("apptag_mask", WHOLE, "Mask of the application tag."),
    command("deac", Form::Flag, "Write zeroes deallocates."),
    command("write_mode", Form::Text, "Command for writes."),
    command("verify_mode", Form::Text, "Command for verification."),
    command("cdw12", WHOLE, "Twelfth word of the command."),
    command("cdw13", WHOLE, "Thirteenth word of the command."),
    placed("fdp", Form::Flag, "Data is placed by reclaim units."),
    placed("dataplacement", Form::Text, "How data is placed: by reclaim units or streams."),
    placed("plids", Form::Text, "Placement identifiers."),
    placed("fdp_pli", Form::Text, "Placement identifiers."),
    placed("plid_select", Form::Text, "How identifiers are chosen."),
    placed("fdp_pli_select", Form::Text, "How identifiers are chosen."),
    placed("dp_scheme", Form::Text, "File that maps data to placement identifiers."),
    scsi("readfua", Form::Flag, "Reads must be served by the medium (FUA)."),
    scsi("writefua", Form::Flag, "Writes must reach the medium (FUA)."),
    scsi("sg_write_mode", Form::Text, "Command for writes."),
    scsi("stream_id", WHOLE, "Stream of writes."),
    host("port", WHOLE, "Port of the connection."),
    host("hostname", Form::Text, "The other host."),
    net("interface", Form::Text, "Interface for multicast."),
    net("ttl", WHOLE, "Maximum number of hops of multicast packets."),
    net("nodelay", Form::Flag, "Sends small packets immediately (TCP_NODELAY)."),
    net("protocol", Form::Text, "Protocol of the connection.").named_also(&["proto"]),
    net("listen", Form::Flag, "Waits for a connection instead of connecting."),
    net("pingpong", Form::Flag, "Each packet is answered."),
    net("window_size", Form::Size, "Buffer of the socket."),
    net("mss", Form::Size, "Largest segment."),
    rdma("verb", Form::Text, "RDMA operation."),
    rdma("bindname", Form::Text, "Local name of the connection."),
    librpma("serverip", Form::Text, "Address of the server."),
    librpma("direct_write_to_pmem", Form::Flag, "Writes reach persistent memory."),
    librpma("busy_wait_polling", Form::Flag, "Polls for completions."),
    ceph("clustername", Form::Text, "Cluster."),
    ceph("rbdname", Form::Text, "Block device."),
    ceph("clientname", Form::Text, "User."),
    ceph("conf", Form::Text, "Configuration file."),
    ceph("busy_poll", Form::Flag, "Polls for completions."),
    ceph("touch_objects", Form::Flag, "Creates the objects first."),
    missing(
        "pool",
        Form::Text,
        "Pool of the data.",
        "neither Ceph nor DAOS is built: use io_uring on a mapped device or a mounted file system",
    )
    .of(&["rbd", "rados", "dfs"]),
    elsewhere("chunk_size", Form::Size, "Chunk size of files."),
    elsewhere("cont", Form::Text, "Container."),
    elsewhere("object_class", Form::Text, "Class of objects."),
    elsewhere("namenode", Form::Text, "Name node."),
    elsewhere("hdfsdirectory", Form::Text, "Directory of the files."),
    http("https", Form::Text, "Encrypted connections."),
    http("http_host", Form::Text, "Host."),
    http("http_user", Form::Text, "User."),
    http("http_pass", Form::Text, "Password."),
    http("http_mode", Form::Text, "WebDAV, Swift or S3."),
    http("http_s3_region", Form::Text, "Region."),
    http("http_s3_key", Form::Text, "Secret key."),
    http("http_s3_keyid", Form::Text, "Name of the key."),
    http("http_s3_security_token", Form::Text, "Security token."),
    http("http_s3_sse_customer_key", Form::Text, "Key that the server encrypts with."),
    http("http_s3_sse_customer_algorithm", Form::Text, "Algorithm that the server encrypts with."),
    http("http_s3_storage_class", Form::Text, "Class of storage."),
    http("http_swift_auth_token", Form::Text, "Token."),
    http("http_verbose", Form::Text, "Verbosity."),
    http("http_object_mode", Form::Text, "How objects are divided."),
    missing(
        "skip_bad",
        Form::Flag,
        "Skips bad blocks.",
        "flash memory is not supported: use psync on /dev/mtdblockN",
    )
    .of(&["mtd"]),
    missing(
        "uri",
        Form::Text,
        "Address of the server.",
        "network block devices are not supported: connect one with nbd-client and use io_uring on it",
    )
    .of(&["nbd"]),
    missing(
        "nfs_url",
        Form::Text,
        "Address of the server.",
        "NFS is supported only through a mount: use files on it",
    )
    .of(&["nfs"]),
    gluster("volume", Form::Text, "Volume."),
    gluster("brick", Form::Text, "Brick."),
    gluster("single-instance", Form::Flag, "Clones share one connection."),
    gpu("gpu_dev_ids", Form::Text, "Graphics cards."),
    gpu("gpu_dev_id", Form::Text, "A graphics card."),
    gpu("cuda_io", Form::Text, "Path of the data."),
    xnvme("xnvme_async", Form::Text, "Asynchronous interface."),
    xnvme("xnvme_sync", Form::Text, "Synchronous interface."),
    xnvme("xnvme_admin", Form::Text, "Interface for administration."),
    xnvme("xnvme_mem", Form::Text, "Type of memory."),
    xnvme("xnvme_dev_nsid", WHOLE, "Namespace."),
    xnvme("xnvme_dev_subnqn", Form::Text, "Subsystem."),
    xnvme("xnvme_iovec", Form::Flag, "Operations have vectors of buffers."),
    blkio("libblkio_driver", Form::Text, "Driver."),
    blkio("libblkio_path", Form::Text, "The device."),
    blkio("libblkio_pre_connect_props", Form::Text, "Settings before it connects."),
    blkio("libblkio_num_entries", Form::Text, "Entries of a queue."),
    blkio("libblkio_queue_size", Form::Text, "Size of a queue."),
    blkio("libblkio_pre_start_props", Form::Text, "Settings before it starts."),
    blkio("libblkio_vectored", Form::Text, "Operations have vectors of buffers."),
    blkio("libblkio_write_zeroes_on_trim", Form::Text, "Trims write zeros."),
    blkio("libblkio_wait_mode", Form::Text, "How completions are waited for."),
    blkio(
        "libblkio_force_enable_completion_eventfd",
        Form::Text,
        "Completions are signalled by an event file descriptor.",
    ),
];

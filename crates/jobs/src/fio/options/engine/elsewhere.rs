//! Options of engines that are not built, and what no engine does here: they are known, so that they can be refused by name.

use super::{WHOLE, missing};
use crate::fio::option::{Form, Opt};

/// The options.
pub const OPTIONS: &[Opt] = &[
    missing(
        "cmdprio_percentage",
        Form::Integer { least: 0, most: 100 },
        "Share of the operations that get the highest priority.",
        "a priority of single operations is not built: run the job under ionice(1)",
    )
    .of(&["io_uring", "libaio"]),
    missing(
        "cmdprio_class",
        WHOLE,
        "Class of these operations' priority.",
        "a priority of single operations is not built: run the job under ionice(1)",
    )
    .of(&["io_uring", "libaio"]),
    missing(
        "cmdprio",
        WHOLE,
        "Priority of these operations.",
        "a priority of single operations is not built: run the job under ionice(1)",
    )
    .of(&["io_uring", "libaio"]),
    missing(
        "cmdprio_hint",
        Form::Text,
        "Hint of these operations' priority.",
        "a priority of single operations is not built: run the job under ionice(1)",
    )
    .of(&["io_uring", "libaio"]),
    missing(
        "cmdprio_bssplit",
        Form::Text,
        "Share of the operations of each size that get a priority.",
        "a priority of single operations is not built: run the job under ionice(1)",
    )
    .of(&["io_uring", "libaio"]),
    missing(
        "cmd_type",
        Form::Choice(&["nvme"]),
        "Kind of the commands.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "md_per_io_size",
        Form::Size,
        "Metadata of an operation.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "pi_act",
        WHOLE,
        "Action for protection information.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "pi_chk",
        Form::Text,
        "Which protection information is checked.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "apptag",
        WHOLE,
        "Application tag of the protection information.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "apptag_mask",
        WHOLE,
        "Mask of the application tag.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "deac",
        Form::Flag,
        "Write zeroes deallocates.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "write_mode",
        Form::Text,
        "Command for writes.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "verify_mode",
        Form::Text,
        "Command for verification.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "cdw12",
        WHOLE,
        "Twelfth word of the command.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "cdw13",
        WHOLE,
        "Thirteenth word of the command.",
        "NVMe commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["io_uring_cmd"]),
    missing(
        "fdp",
        Form::Flag,
        "Data is placed by reclaim units.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "dataplacement",
        Form::Text,
        "How data is placed: by reclaim units or streams.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "plids",
        Form::Text,
        "Placement identifiers.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "fdp_pli",
        Form::Text,
        "Placement identifiers.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "plid_select",
        Form::Text,
        "How identifiers are chosen.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "fdp_pli_select",
        Form::Text,
        "How identifiers are chosen.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "dp_scheme",
        Form::Text,
        "File that says which data gets which identifier.",
        "placement of data on NVMe devices is not built: leave it out",
    )
    .of(&["io_uring_cmd", "xnvme"]),
    missing(
        "readfua",
        Form::Flag,
        "Reads have to come from the medium.",
        "SCSI commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["sg"]),
    missing(
        "writefua",
        Form::Flag,
        "Writes have to reach the medium.",
        "SCSI commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["sg"]),
    missing(
        "sg_write_mode",
        Form::Text,
        "Command for writes.",
        "SCSI commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["sg"]),
    missing(
        "stream_id",
        WHOLE,
        "Stream of writes.",
        "SCSI commands are not built: use ioengine=io_uring on the block device",
    )
    .of(&["sg"]),
    missing("port", WHOLE, "Port of the connection.", "networks are not built: use iperf3").of(&[
        "net",
        "netsplice",
        "rdma",
        "libhdfs",
    ]),
    missing("hostname", Form::Text, "The other host.", "networks are not built: use iperf3").of(&[
        "net",
        "netsplice",
        "rdma",
        "libhdfs",
    ]),
    missing("interface", Form::Text, "Interface for multicast.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"]),
    missing("ttl", WHOLE, "Hops that multicast packets may go.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"]),
    missing(
        "nodelay",
        Form::Flag,
        "Small packets are sent at once (TCP_NODELAY).",
        "networks are not built: use iperf3",
    )
    .of(&["net", "netsplice"]),
    missing("protocol", Form::Text, "Protocol of the connection.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"])
        .named_also(&["proto"]),
    missing(
        "listen",
        Form::Flag,
        "Waits for a connection rather than making one.",
        "networks are not built: use iperf3",
    )
    .of(&["net", "netsplice"]),
    missing("pingpong", Form::Flag, "Each packet is answered.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"]),
    missing("window_size", Form::Size, "Buffer of the socket.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"]),
    missing("mss", Form::Size, "Largest segment.", "networks are not built: use iperf3")
        .of(&["net", "netsplice"]),
    missing(
        "verb",
        Form::Text,
        "What is asked of the other side.",
        "RDMA is not built: use perftest (ib_write_bw)",
    )
    .of(&["rdma"]),
    missing(
        "bindname",
        Form::Text,
        "Local name of the connection.",
        "RDMA is not built: use perftest (ib_write_bw)",
    )
    .of(&["rdma"]),
    missing(
        "serverip",
        Form::Text,
        "Address of the server.",
        "RDMA is not built: use perftest (ib_write_bw)",
    )
    .of(&["librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"]),
    missing(
        "direct_write_to_pmem",
        Form::Flag,
        "Writes reach persistent memory.",
        "RDMA is not built: use perftest (ib_write_bw)",
    )
    .of(&["librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"]),
    missing(
        "busy_wait_polling",
        Form::Flag,
        "Polls for completions.",
        "RDMA is not built: use perftest (ib_write_bw)",
    )
    .of(&["librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"]),
    missing(
        "donorname",
        Form::Text,
        "File whose extents are taken.",
        "moving extents is not built: measure e4defrag(8) itself",
    )
    .of(&["e4defrag"]),
    missing(
        "inplace",
        WHOLE,
        "When the donor's space is allocated.",
        "moving extents is not built: measure e4defrag(8) itself",
    )
    .of(&["e4defrag"]),
    missing(
        "clustername",
        Form::Text,
        "Cluster.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "rbdname",
        Form::Text,
        "Block device.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "clientname",
        Form::Text,
        "User.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "conf",
        Form::Text,
        "Configuration file.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "busy_poll",
        Form::Flag,
        "Polls for completions.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "touch_objects",
        Form::Flag,
        "Objects are made first.",
        "Ceph is not built: use `rados bench`, or io_uring on a device made by `rbd map`",
    )
    .of(&["rbd", "rados"]),
    missing(
        "pool",
        Form::Text,
        "Pool of the data.",
        "neither Ceph nor DAOS is built: use io_uring on a mapped device or a mounted file system",
    )
    .of(&["rbd", "rados", "dfs"]),
    missing(
        "chunk_size",
        Form::Size,
        "Size of a file's pieces.",
        "neither DAOS nor Hadoop is built: use io_uring on a mounted file system",
    )
    .of(&["dfs", "libhdfs"]),
    missing(
        "cont",
        Form::Text,
        "Container.",
        "neither DAOS nor Hadoop is built: use io_uring on a mounted file system",
    )
    .of(&["dfs", "libhdfs"]),
    missing(
        "object_class",
        Form::Text,
        "Class of objects.",
        "neither DAOS nor Hadoop is built: use io_uring on a mounted file system",
    )
    .of(&["dfs", "libhdfs"]),
    missing(
        "namenode",
        Form::Text,
        "Host that knows the names.",
        "neither DAOS nor Hadoop is built: use io_uring on a mounted file system",
    )
    .of(&["dfs", "libhdfs"]),
    missing(
        "hdfsdirectory",
        Form::Text,
        "Directory of the files.",
        "neither DAOS nor Hadoop is built: use io_uring on a mounted file system",
    )
    .of(&["dfs", "libhdfs"]),
    missing(
        "https",
        Form::Text,
        "Encrypted connections.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing("http_host", Form::Text, "Host.", "object stores are not built: use warp or s3-benchmark")
        .of(&["http"]),
    missing("http_user", Form::Text, "User.", "object stores are not built: use warp or s3-benchmark")
        .of(&["http"]),
    missing("http_pass", Form::Text, "Password.", "object stores are not built: use warp or s3-benchmark")
        .of(&["http"]),
    missing(
        "http_mode",
        Form::Text,
        "WebDAV, Swift or S3.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing("http_s3_region", Form::Text, "Region.", "object stores are not built: use warp or s3-benchmark")
        .of(&["http"]),
    missing(
        "http_s3_key",
        Form::Text,
        "Secret key.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_s3_keyid",
        Form::Text,
        "Name of the key.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_s3_security_token",
        Form::Text,
        "Security token.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_s3_sse_customer_key",
        Form::Text,
        "Key that the server encrypts with.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_s3_sse_customer_algorithm",
        Form::Text,
        "Algorithm that the server encrypts with.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_s3_storage_class",
        Form::Text,
        "Class of storage.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_swift_auth_token",
        Form::Text,
        "Token.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_verbose",
        Form::Text,
        "How much is told.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "http_object_mode",
        Form::Text,
        "How objects are cut.",
        "object stores are not built: use warp or s3-benchmark",
    )
    .of(&["http"]),
    missing(
        "skip_bad",
        Form::Flag,
        "Bad blocks are left out.",
        "flash memory is not built: use psync on /dev/mtdblockN",
    )
    .of(&["mtd"]),
    missing(
        "uri",
        Form::Text,
        "Address of the server.",
        "network block devices are not built: connect one with nbd-client and use io_uring on it",
    )
    .of(&["nbd"]),
    missing(
        "nfs_url",
        Form::Text,
        "Address of the server.",
        "NFS is used through a mount here: name files on it",
    )
    .of(&["nfs"]),
    missing("volume", Form::Text, "Volume.", "GlusterFS is used through a mount here: name files on it")
        .of(&["gfapi", "gfapi_async"]),
    missing("brick", Form::Text, "Brick.", "GlusterFS is used through a mount here: name files on it")
        .of(&["gfapi", "gfapi_async"]),
    missing(
        "gpu_dev_ids",
        Form::Text,
        "Graphics cards.",
        "GPUDirect storage is not built: use io_uring with direct=1",
    )
    .of(&["libcufile"]),
    missing(
        "cuda_io",
        Form::Text,
        "Way of the data.",
        "GPUDirect storage is not built: use io_uring with direct=1",
    )
    .of(&["libcufile"]),
    missing(
        "program",
        Form::Text,
        "The program.",
        "programs beside a job are not built: use exec_prerun=, or start it yourself",
    )
    .of(&["exec"]),
    missing(
        "arguments",
        Form::Text,
        "Its arguments.",
        "programs beside a job are not built: use exec_prerun=, or start it yourself",
    )
    .of(&["exec"]),
    missing(
        "grace_time",
        WHOLE,
        "Time from asking it to end to killing it.",
        "programs beside a job are not built: use exec_prerun=, or start it yourself",
    )
    .of(&["exec"]),
    missing(
        "std_redirect",
        Form::Flag,
        "Its output goes to files.",
        "programs beside a job are not built: use exec_prerun=, or start it yourself",
    )
    .of(&["exec"]),
    missing(
        "xnvme_async",
        Form::Text,
        "Asynchronous interface.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing(
        "xnvme_sync",
        Form::Text,
        "Synchronous interface.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing(
        "xnvme_admin",
        Form::Text,
        "Interface for administration.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing(
        "xnvme_mem",
        Form::Text,
        "Where memory comes from.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing("xnvme_dev_nsid", WHOLE, "Namespace.", "xNVMe is not built: use io_uring on the block device")
        .of(&["xnvme"]),
    missing(
        "xnvme_dev_subnqn",
        Form::Text,
        "Subsystem.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing(
        "xnvme_iovec",
        Form::Flag,
        "Operations have vectors of buffers.",
        "xNVMe is not built: use io_uring on the block device",
    )
    .of(&["xnvme"]),
    missing(
        "libblkio_driver",
        Form::Text,
        "Driver.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_path",
        Form::Text,
        "The device.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_pre_connect_props",
        Form::Text,
        "Settings before it connects.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_num_entries",
        Form::Text,
        "Entries of a queue.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_queue_size",
        Form::Text,
        "Size of a queue.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_pre_start_props",
        Form::Text,
        "Settings before it starts.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_vectored",
        Form::Text,
        "Operations have vectors of buffers.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_write_zeroes_on_trim",
        Form::Text,
        "Trims write zeros.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_wait_mode",
        Form::Text,
        "How completions are waited for.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
    missing(
        "libblkio_force_enable_completion_eventfd",
        Form::Text,
        "Completions are told by an event file.",
        "libblkio is not built: use io_uring on the block device",
    )
    .of(&["libblkio"]),
];

//! What the machine is.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use iolite_model::{Bytes, Host};

/// What the machine is that this runs on. Facts that cannot be had are `unknown` or 0.
///
/// The memory is the machine's, whatever a control group allows this process of it.
pub fn host() -> Host {
    let kernel = rustix::system::uname();
    let sources = Sources { root: PathBuf::from("/"), signature: hypervisor_signature() };
    Host {
        name: kernel.nodename().to_string_lossy().into_owned(),
        kernel: kernel.release().to_string_lossy().into_owned(),
        architecture: kernel.machine().to_string_lossy().into_owned(),
        cpu: sources.cpu(),
        cpus: thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory: sources.memory(),
        virtualisation: sources.virtualisation(),
    }
}

/// Whether the processor says that there is a hypervisor, and its signature where it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Signature {
    /// The processor says that there is none.
    Absent,
    /// There is one of this signature.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Present(String),
    /// The processor does not report it, as outside x86.
    Unknown,
}

/// Asks the processor: leaf 1, ECX bit 31 and then leaf 0x4000_0000 (Linux, Documentation/virt/kvm/x86/cpuid.rst).
#[cfg(target_arch = "x86_64")]
fn hypervisor_signature() -> Signature {
    use std::arch::x86_64::__cpuid;
    if __cpuid(1).ecx >> 31 == 0 {
        return Signature::Absent;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    Signature::Present(String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_string())
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_signature() -> Signature {
    Signature::Unknown
}

/// Vendors of virtual machines, by a part of what the firmware's tables say (dmidecode's `System Information`).
const PLATFORMS: [(&str, &str); 13] = [
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Alibaba Cloud", "alibaba"),
    ("DigitalOcean", "digitalocean"),
    ("Hetzner", "hetzner"),
    ("OpenStack", "openstack"),
    ("Xen", "xen"),
    ("KVM", "kvm"),
    ("Parallels", "parallels"),
    ("Apple Virtualization", "apple"),
    // Last, because others have these words in their names too.
    ("Virtual Machine", "hyper-v"),
];

/// Hypervisors by the signature of their processor leaf.
const SIGNATURES: [(&str, &str); 8] = [
    ("KVMKVMKVM", "kvm"),
    ("VMwareVMware", "vmware"),
    ("Microsoft Hv", "hyper-v"),
    ("XenVMMXenVMM", "xen"),
    ("VBoxVBoxVBox", "virtualbox"),
    ("TCGTCGTCGTCG", "qemu"),
    ("bhyve bhyve", "bhyve"),
    ("prl hyperv", "parallels"),
];

/// Makers and parts of ARM processors that carry databases (Linux, arch/arm64/include/asm/cputype.h).
const ARM_PARTS: [(&str, &str, &str); 11] = [
    ("0x41", "0xd03", "ARM Cortex-A53"),
    ("0x41", "0xd08", "ARM Cortex-A72"),
    ("0x41", "0xd0b", "ARM Cortex-A76"),
    ("0x41", "0xd0c", "ARM Neoverse-N1"),
    ("0x41", "0xd40", "ARM Neoverse-V1"),
    ("0x41", "0xd49", "ARM Neoverse-N2"),
    ("0x41", "0xd4f", "ARM Neoverse-V2"),
    ("0x41", "0xd84", "ARM Neoverse-V3"),
    ("0x41", "0xd8e", "ARM Neoverse-N3"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0x48", "0xd01", "HiSilicon Kunpeng-920"),
];

/// Where the facts are read: the files beneath a root directory, and what the processor reported.
struct Sources {
    root: PathBuf,
    signature: Signature,
}

impl Sources {
    /// The content of a file, its padding trimmed; empty if it cannot be read.
    fn read(&self, path: &str) -> String {
        let bytes = fs::read(self.root.join(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_string()
    }

    fn exists(&self, path: &str) -> bool {
        Path::exists(&self.root.join(path))
    }

    /// The model of the processor: its name, else what an ARM processor reports of its maker, else the machine's model.
    fn cpu(&self) -> String {
        let text = self.read("proc/cpuinfo");
        if let Some(name) = field(&text, "model name").filter(|name| !name.is_empty()) {
            return name.to_string();
        }
        if let Some((maker, part)) = field(&text, "CPU implementer").zip(field(&text, "CPU part")) {
            let known = ARM_PARTS.iter().find(|known| (known.0, known.1) == (maker, part));
            return known
                .map_or_else(|| format!("ARM implementer {maker} part {part}"), |known| known.2.to_string());
        }
        let model = self.read("proc/device-tree/model");
        if model.is_empty() { "unknown".to_string() } else { model }
    }

    fn memory(&self) -> Bytes {
        let text = self.read("proc/meminfo");
        let kibibytes =
            field(&text, "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
        Bytes(kibibytes.unwrap_or(0).saturating_mul(1024))
    }

    /// As documented at [`Host::virtualisation`].
    fn virtualisation(&self) -> String {
        let machine = self.hypervisor().unwrap_or("none");
        match self.container() {
            Some(container) => format!("{machine} ({container} container)"),
            None => machine.to_string(),
        }
    }

    fn hypervisor(&self) -> Option<&'static str> {
        if self.signature == Signature::Absent {
            return None;
        }
        let firmware =
            ["sys_vendor", "product_name"].map(|name| self.read(&format!("sys/class/dmi/id/{name}")));
        let says = |mark: &str| firmware.iter().any(|text| text.contains(mark));
        // Without a processor's word for it, a cloud's name may stand for a whole machine of that cloud.
        let whole_machine = self.signature == Signature::Unknown && firmware[1].contains("metal");
        if whole_machine {
            return None;
        }
        let platform = PLATFORMS.iter().find(|(mark, _)| says(mark)).map(|(_, name)| *name);
        platform
            .or_else(|| self.firecracker())
            .or_else(|| self.named())
            // After the processor's own report, which distinguishes QEMU with KVM from QEMU alone.
            .or_else(|| says("QEMU").then_some("qemu"))
            .or_else(|| matches!(self.signature, Signature::Present(_)).then_some("unknown hypervisor"))
    }

    /// Firecracker has no such tables, but signs its ACPI ones: the six bytes at 10 of a table's header name the
    /// maker (ACPI specification, section 5.2.6). Only root may read them.
    fn firecracker(&self) -> Option<&'static str> {
        let table = fs::read(self.root.join("sys/firmware/acpi/tables/FACP")).ok()?;
        (table.get(10..16)? == b"FIRECK").then_some("firecracker")
    }

    /// The hypervisor by its own word: Xen's, the processor leaf's, the device tree's.
    fn named(&self) -> Option<&'static str> {
        if self.read("sys/hypervisor/type") == "xen" {
            return Some("xen");
        }
        if let Signature::Present(signature) = &self.signature {
            return SIGNATURES.iter().find(|(known, _)| signature.starts_with(known)).map(|(_, name)| *name);
        }
        let device_tree = self.read("proc/device-tree/hypervisor/compatible");
        [("linux,kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware")]
            .into_iter()
            .find(|(mark, _)| device_tree.contains(mark))
            .map(|(_, name)| name)
    }

    /// The container engine, by the marks that each leaves: a file at the root, or systemd's note of it, or the
    /// variable that it sets for the first process (systemd, Container Interface).
    fn container(&self) -> Option<String> {
        if self.exists(".dockerenv") {
            return Some("docker".to_string());
        }
        if self.exists("run/.containerenv") {
            return Some("podman".to_string());
        }
        let noted = self.read("run/systemd/container");
        let environment = self.read("proc/1/environ");
        let set = environment.split('\0').find_map(|variable| variable.strip_prefix("container="));
        Some(noted).into_iter().chain(set.map(str::to_string)).find(|name| !name.is_empty())
    }
}

/// The value of the first line `name: value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root directory with these files, and what the processor reported.
    fn imitation(signature: Signature, files: &[(&str, &str)]) -> (tempfile::TempDir, Sources) {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let sources = Sources { root: root.path().to_path_buf(), signature };
        (root, sources)
    }

    fn virtualisation(signature: Signature, files: &[(&str, &str)]) -> String {
        imitation(signature, files).1.virtualisation()
    }

    fn present(signature: &str) -> Signature {
        Signature::Present(signature.to_string())
    }

    const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";

    #[test]
    fn this_machine_is_described() {
        let host = host();
        assert!(!host.name.is_empty() && host.kernel.contains('.'), "{host:?}");
        assert_eq!(host.architecture, std::env::consts::ARCH);
        assert!(host.cpus > 0 && host.memory > Bytes::MIB && !host.cpu.is_empty(), "{host:?}");
        assert!(!host.virtualisation.is_empty());
    }

    #[test]
    fn hypervisors_are_named() {
        assert_eq!(virtualisation(Signature::Absent, &[(VENDOR, "Amazon EC2\n")]), "none");
        assert_eq!(virtualisation(present("KVMKVMKVM"), &[]), "kvm");
        assert_eq!(virtualisation(present("KVMKVMKVM"), &[(VENDOR, "Amazon EC2\n")]), "amazon");
        assert_eq!(virtualisation(present("VMwareVMware"), &[(VENDOR, "VMware, Inc.\n")]), "vmware");
        assert_eq!(virtualisation(present("Microsoft Hv"), &[(PRODUCT, "Virtual Machine\n")]), "hyper-v");
        assert_eq!(virtualisation(present("who knows"), &[]), "unknown hypervisor");
        assert_eq!(virtualisation(present("KVMKVMKVM"), &[(VENDOR, "QEMU\n")]), "kvm");
        let arm = [(VENDOR, "QEMU\n"), (PRODUCT, "KVM Virtual Machine\n")];
        assert_eq!(virtualisation(Signature::Unknown, &arm), "kvm");
        assert_eq!(virtualisation(Signature::Unknown, &arm[..1]), "qemu");
        assert_eq!(virtualisation(present("odd"), &[("sys/hypervisor/type", "xen\n")]), "xen");
        let table = [("sys/firmware/acpi/tables/FACP", "FACP0123\u{6}fFIRECKFCVMFADT")];
        assert_eq!(virtualisation(present("KVMKVMKVM"), &table), "firecracker");
    }

    #[test]
    fn without_the_processors_word_the_firmware_decides() {
        let metal = [(VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.metal\n")];
        assert_eq!(virtualisation(Signature::Unknown, &metal), "none");
        assert_eq!(virtualisation(Signature::Unknown, &metal[..1]), "amazon");
        assert_eq!(virtualisation(Signature::Unknown, &[(VENDOR, "Lenovo\n")]), "none");
        let tree = [("proc/device-tree/hypervisor/compatible", "linux,kvm\0")];
        assert_eq!(virtualisation(Signature::Unknown, &tree), "kvm");
    }

    #[test]
    fn containers_are_named() {
        let named = |files: &[_]| virtualisation(present("KVMKVMKVM"), files);
        assert_eq!(named(&[(".dockerenv", "")]), "kvm (docker container)");
        assert_eq!(named(&[("run/.containerenv", "")]), "kvm (podman container)");
        assert_eq!(named(&[("proc/1/environ", "TERM=linux\0container=lxc\0A=b\0")]), "kvm (lxc container)");
        assert_eq!(named(&[("run/systemd/container", "systemd-nspawn\n")]), "kvm (systemd-nspawn container)");
        assert_eq!(virtualisation(Signature::Absent, &[(".dockerenv", "")]), "none (docker container)");
    }

    #[test]
    fn processors_and_memory_are_read() {
        let cpu = |files: &[_]| imitation(Signature::Unknown, files).1.cpu();
        assert_eq!(cpu(&[("proc/cpuinfo", "processor\t: 0\nmodel name\t: Acme 9: fast\n")]), "Acme 9: fast");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n";
        assert_eq!(cpu(&[("proc/cpuinfo", arm)]), "ARM Neoverse-V1");
        let other = arm.replace("0xd40", "0xfff");
        assert_eq!(cpu(&[("proc/cpuinfo", &other)]), "ARM implementer 0x41 part 0xfff");
        assert_eq!(cpu(&[("proc/device-tree/model", "Acme Board\0")]), "Acme Board");
        assert_eq!(cpu(&[]), "unknown");
        let (_root, sources) =
            imitation(Signature::Unknown, &[("proc/meminfo", "MemTotal:       2048 kB\n")]);
        assert_eq!(sources.memory(), Bytes(2 << 20));
    }
}

//! The amount of memory that the machine lets a process use.
use crate::fork::LazyNumber;
use std::fs::read_to_string;
use std::path::Path;

/// Default memory limit of programs in bytes: seven eighths of the machine's memory, or of the limit of the process's
/// control group.
pub fn default_limit() -> usize {
    static LIMIT: LazyNumber = LazyNumber::new();
    LIMIT.get(|| {
        let machine = physical().into_iter().chain(control_groups()).min().unwrap_or(usize::MAX);
        machine / 8 * 7
    })
}

fn physical() -> Option<usize> {
    // SAFETY: plain system calls.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).ok()?.checked_mul(usize::try_from(size).ok()?)
}

/// Memory limits of the process's control group and its ancestors, for cgroup v1 and v2.
fn control_groups() -> impl Iterator<Item = usize> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default().to_owned();
    let folders: Vec<_> = Path::new("/sys/fs/cgroup").join(own).ancestors().map(|p| p.join("memory.max")).collect();
    let first = Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes").to_owned();
    folders.into_iter().chain([first]).filter_map(|file| read_to_string(file).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "asks the system")]
    fn the_default_limit_is_positive() {
        assert!((1 << 20..usize::MAX / 2).contains(&default_limit()), "{}", default_limit());
    }
}

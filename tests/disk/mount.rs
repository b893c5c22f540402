//! Small disks of our own, mounted for one test.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A mounted disk. Dropping it unmounts it, whatever happened.
pub struct Disk {
    at: PathBuf,
    image: Option<PathBuf>,
    mounted: bool,
}

/// Past the capture of test output: a test that did not run must not look like one that did.
fn skip(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("{test} is skipped: {why}\n").as_bytes());
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn may_mount() -> bool {
    // The owner of one's own entry there is the effective user.
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0);
    if !root {
        skip("mounting a disk needs root");
    }
    root
}

impl Disk {
    /// A disk in memory. `None`, with the reason printed, where mounting is not allowed.
    pub fn in_memory(megabytes: u32) -> Option<Self> {
        if !may_mount() {
            return None;
        }
        let at = tempfile::tempdir().unwrap().keep();
        let size = format!("size={megabytes}m");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "sluice-test", at.to_str().unwrap()]);
        Self::made(at, None, mounted)
    }

    /// A disk with a journal, in a file.
    pub fn in_file(megabytes: u64) -> Option<Self> {
        if !may_mount() {
            return None;
        }
        let at = tempfile::tempdir().unwrap().keep();
        let image = at.with_extension("image");
        std::fs::File::create(&image).and_then(|f| f.set_len(megabytes << 20)).unwrap();
        let made = run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
        let mounted = made.and_then(|()| run("mount", &["-o", "loop", image.to_str().unwrap(), at.to_str().unwrap()]));
        Self::made(at, Some(image), mounted)
    }

    fn made(at: PathBuf, image: Option<PathBuf>, mounted: Result<(), String>) -> Option<Self> {
        let disk = Self { at, image, mounted: mounted.is_ok() };
        mounted.map_err(|why| skip(&why)).is_ok().then_some(disk)
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    pub fn remount(&self, options: &str) {
        run("mount", &["-o", &format!("remount,{options}"), self.at.to_str().unwrap()]).unwrap();
    }

    /// Covers a directory by a read-only view of itself until the cover is dropped: open files go on, none can be opened for writing.
    pub fn cover(&self, dir: &Path) -> Cover {
        let at = dir.to_str().unwrap();
        run("mount", &["--bind", at, at]).unwrap();
        let cover = Cover(dir.to_owned());
        run("mount", &["-o", "remount,ro,bind", at]).unwrap();
        cover
    }

    /// The disk takes nothing any more, also what it was about to take: memory is lost as when the power goes.
    pub fn abort(&self) {
        self.remount("abort");
    }

    /// Unmounts, repairs and mounts a disk in a file.
    pub fn replug(&mut self) {
        let (at, image) = (self.at.to_str().unwrap().to_owned(), self.image.clone().unwrap());
        let started = Instant::now();
        while let Err(why) = run("umount", &[&at]) {
            assert!(started.elapsed() < Duration::from_secs(10), "the closed store keeps files open: {why}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.mounted = false;
        // Its exit code tells of repairs too; what counts is whether it can be mounted.
        let _ = run("e2fsck", &["-f", "-y", image.to_str().unwrap()]);
        run("mount", &["-o", "loop", image.to_str().unwrap(), &at]).unwrap();
        self.mounted = true;
    }

    /// A file that takes space until it is removed.
    pub fn ballast(&self, name: &str, megabytes: usize) -> PathBuf {
        let path = self.at.join(name);
        std::fs::write(&path, vec![7; megabytes << 20]).unwrap();
        path
    }
}

/// A read-only view over a directory.
pub struct Cover(PathBuf);

impl Drop for Cover {
    fn drop(&mut self) {
        // Files opened through it keep it; then it goes with them.
        let at = self.0.to_str().unwrap();
        if run("umount", &[at]).or_else(|_| run("umount", &["-l", at])).is_err() {
            eprintln!("{at} could not be uncovered");
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let at = self.at.to_str().unwrap();
        // A store that a failed test left open keeps the disk busy; then it goes with the process.
        if self.mounted && run("umount", &[at]).or_else(|_| run("umount", &["-l", at])).is_err() {
            eprintln!("{at} could not be unmounted");
            return;
        }
        if let Some(image) = &self.image {
            let _ = std::fs::remove_file(image);
        }
        let _ = std::fs::remove_dir(&self.at);
    }
}

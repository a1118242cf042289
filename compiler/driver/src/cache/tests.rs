use super::*;
use std::{os::unix::fs::PermissionsExt, thread};

fn key(name: &str) -> Key {
    let mut facts = Bytes::default();
    facts.text(name);
    Key::of(&facts)
}

fn opened(folder: &Path, limit: u64) -> Cache {
    Cache::open(folder, limit).unwrap()
}

#[test]
fn what_is_kept_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("a/b");
    let cache = opened(&own, 1 << 20);
    assert_eq!(cache.get(&key("a")), None);
    cache.put(&key("a"), b"code");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"code"[..]));
    assert_eq!((cache.get(&key("b")), cache.usage().kernels), (None, 1));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&own), mode(&cache.path(&key("a")))), (0o700, 0o600));
    assert_eq!((cache.clear().kernels, cache.usage()), (1, Usage::default()));
}

#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let cache = opened(folder.path(), 1 << 20);
    let (own, other) = (key("own"), key("other"));
    cache.put(&own, b"some code");
    let path = cache.path(&own);
    let whole = fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        cache.get(&own)
    };
    assert!(read(&whole).is_some());
    for at in 0..whole.len() {
        assert_eq!(read(&whole[..at]), None, "the first {at} bytes");
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(read(&damaged), None, "bit {bit} of byte {at}");
        }
    }
    assert_eq!(read(&[&whole[..], &[0]].concat()), None, "one byte more");
    assert_eq!(read(&file::sealed(&other, b"some code")), None, "of another key");
    let mut later = whole.clone();
    later[MARK_VERSION] = b'2';
    let end = later.len() - blake3::OUT_LEN;
    let checksum = blake3::hash(&later[..end]);
    later[end..].copy_from_slice(checksum.as_bytes());
    assert_eq!(read(&later), None, "of another version");
    // The next write replaces the damaged file.
    cache.put(&own, b"some code");
    assert!(cache.get(&own).is_some());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    cache.put(&own, b"some code");
    assert_eq!(cache.get(&own), None, "a folder");
}

/// Where the format's version stands.
const MARK_VERSION: usize = 15;

#[test]
fn what_is_used_stays() {
    let folder = tempfile::tempdir().unwrap();
    let write = |names: &[&str], limit| {
        let cache = opened(folder.path(), limit);
        names.iter().for_each(|name| cache.put(&key(name), &[0; 1000]));
    };
    write(&["a", "b", "c"], 1 << 20);
    let cache = opened(folder.path(), 1 << 20);
    let long_ago = |name: &str, seconds| {
        let file = File::open(cache.path(&key(name))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    long_ago("a", 300);
    long_ago("b", 200);
    long_ago("c", 100);
    assert!(cache.get(&key("a")).is_some());
    fs::write(folder.path().join("a file of the user's"), [0; 5000]).unwrap();
    fs::write(folder.path().join(".unfinished-new"), b"").unwrap();
    fs::write(folder.path().join(".unfinished-old"), b"").unwrap();
    let old = File::open(folder.path().join(".unfinished-old")).unwrap();
    old.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
    write(&["d"], 3500);
    let left = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).is_some());
    assert_eq!(left, [true, false, false, true], "room is made for some more than the last");
    assert!(cache.usage().bytes <= 3500);
    let exists = |name: &str| folder.path().join(name).exists();
    assert!(exists("a file of the user's") && exists(".unfinished-new") && !exists(".unfinished-old"));
    cache.clear();
    assert!(exists("a file of the user's") && !exists(".unfinished-new"));
}

#[test]
fn folders_of_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| Cache::open(path, 1 << 20).unwrap_err();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    assert!(refused(&file).contains("cannot be opened"));
    assert!(refused(&file.join("below")).contains("cannot be opened"));
    for mode in [0o777, 0o720, 0o702, 0o1777] {
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        assert!(refused(folder.path()).contains("chmod go-w"), "{mode:o}");
    }
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    opened(folder.path(), 1 << 20);
}

/// Many write, read and remove at once: whoever reads finds all or nothing.
#[test]
fn many_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let content = |number: usize| vec![number as u8; 10_000 + number];
    let run = |seed: usize| {
        for round in 0..60 {
            // Some folders are too small.
            let cache = opened(folder.path(), if seed == 0 { 50_000 } else { 1 << 20 });
            let number = (round * 7 + seed) % 10;
            let key = key(&number.to_string());
            assert!(cache.get(&key).is_none_or(|found| found == content(number)));
            cache.put(&key, &content(number));
            if seed == 1 && round % 20 == 0 {
                cache.clear();
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|seed| _ = scope.spawn(move || run(seed))));
    let names = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| Key::is_name(&name)), "nothing unfinished is left");
}

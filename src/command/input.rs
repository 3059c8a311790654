//! Opens inputs: a file or stdin, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::exit::{Code, Failure};
use crate::sys;
use crate::watch::replay::Source;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Compression shrinks a recording to a fifth, that of an idle program to a fiftieth. An input that grows more than
/// this when decompressed, and beyond [`SMALL_BYTES`], is a decompression bomb.
const MAX_GROWTH: u64 = 256;
/// gcwatch reads this many decompressed bytes in any case.
const SMALL_BYTES: u64 = 64 << 20;
/// The largest window that a decompressor may allocate: `xz -9` needs 64 MiB.
const MAX_WINDOW_BYTES: u64 = 64 << 20;
/// What `lzma_rust2` adds to the window for its own buffers.
const XZ_OWN_KIB: u32 = 1 << 10;
/// How much of a compressed recording the reader may hold back: a multiple of its length, within these bounds.
const HELD_BYTES: std::ops::RangeInclusive<u64> = 32 << 20..=256 << 20;
const HELD_GROWTH: u64 = 64;

/// Opens a recording; `-` is stdin. Its first bytes, not its name, say how it is compressed.
///
/// # Errors
/// It cannot be opened, or its first bytes cannot be read.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let opened: io::Result<Box<dyn Read + Send>> = if path == Path::new("-") {
        decompressed(BufReader::with_capacity(1 << 16, io::stdin()))
    } else if path.is_dir() {
        // Windows says that it may not be opened.
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        File::open(path).and_then(|file| decompressed(BufReader::with_capacity(1 << 16, file)))
    };
    opened.map_err(|e| unopened(path, &e))
}

/// Opens a recording to be read from front to back, as [`open`] does.
///
/// # Errors
/// Those of [`open`].
pub(super) fn recording(path: &Path) -> Result<Source, Failure> {
    let plain = || -> io::Result<Option<Source>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut first = [0; XZ.len()];
        let n = if metadata.is_file() { sys::read_at(&file, &mut first, 0)? } else { 0 };
        let plain = n > 0 && ![GZIP, XZ, ZSTD].iter().any(|magic| first[..n].starts_with(magic));
        Ok(plain.then(|| Source::file(file, metadata.len())))
    };
    match plain() {
        Ok(Some(source)) if path != Path::new("-") => Ok(source),
        _ => open(path).map(|stream| Source::stream(stream, held_bytes(path))),
    }
}

/// How many bytes the reader may hold back of a recording that it reads as a stream.
pub(super) fn held_bytes(path: &Path) -> usize {
    let file = std::fs::metadata(path).ok().filter(|m| m.is_file() && path != Path::new("-"));
    let held = file.map_or(*HELD_BYTES.end(), |m| m.len().saturating_mul(HELD_GROWTH));
    usize::try_from(held.clamp(*HELD_BYTES.start(), *HELD_BYTES.end())).unwrap_or(usize::MAX)
}

/// The failure to open an input. Only if the file's contents are to blame, the remedy explains recordings.
fn unopened(path: &Path, e: &io::Error) -> Failure {
    let remedy = match e.kind() {
        io::ErrorKind::NotFound => "check the name; `gcwatch … --record FILE` makes a recording",
        io::ErrorKind::PermissionDenied => "run gcwatch as a user who may read it",
        io::ErrorKind::IsADirectory => "give the files in it, such as DIRECTORY/*.nettrace",
        _ => return unreadable(path, &e.to_string()),
    };
    Failure::new(Code::BAD_INPUT, format!("cannot read {}: {e}", path.display())).remedy(remedy)
}

/// Whether the file begins as a JSON document does.
pub(super) fn is_document(path: &Path) -> bool {
    let mut first = [0];
    let begins =
        |mut input: Box<dyn Read + Send>| input.read(&mut first).is_ok_and(|n| n == 1) && first == *b"{";
    path.is_file() && open(path).is_ok_and(begins)
}

/// A failure to read a recording.
pub(super) fn unreadable(path: &Path, why: &str) -> Failure {
    let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
    Failure::new(Code::BAD_INPUT, format!("cannot read {name}: {why}")).remedy(
        "a recording is a .nettrace file (or .gz, .xz, .zst of one), made by `gcwatch … --record FILE` or `dotnet-trace collect`",
    )
}

fn decompressed<R: BufRead + Send + 'static>(mut input: R) -> io::Result<Box<dyn Read + Send>> {
    // Several reads: a pipe may deliver its first bytes one by one.
    let mut first = Vec::new();
    input.by_ref().take(XZ.len() as u64).read_to_end(&mut first)?;
    let used = Arc::new(AtomicU64::new(0));
    let input = Counted { input: io::Cursor::new(first.clone()).chain(input), used: Arc::clone(&used) };
    let bounded = |output| Box::new(Bounded { output, used, given: 0 });
    Ok(if first.starts_with(GZIP) {
        bounded(Box::new(flate2::bufread::MultiGzDecoder::new(input)))
    } else if first.starts_with(XZ) {
        let max_kib = u32::try_from(MAX_WINDOW_BYTES >> 10).unwrap_or(u32::MAX).saturating_add(XZ_OWN_KIB);
        bounded(Box::new(lzma_rust2::XzReader::new_mem_limit(input, true, max_kib)))
    } else if first.starts_with(ZSTD) {
        bounded(Box::new(Frames { input: Some(input), decoder: None }))
    } else {
        Box::new(input)
    })
}

/// Counts the bytes that were read from an input.
struct Counted<R> {
    input: R,
    used: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.used.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.used.fetch_add(n as u64, Ordering::Relaxed);
        self.input.consume(n);
    }
}

/// Fails when the decompressed output is out of proportion to the input.
struct Bounded {
    output: Box<dyn Read + Send>,
    used: Arc<AtomicU64>,
    given: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.output.read(buffer)?;
        self.given = self.given.saturating_add(n as u64);
        let max = self.used.load(Ordering::Relaxed).saturating_mul(MAX_GROWTH).saturating_add(SMALL_BYTES);
        if self.given > max {
            let what = format!(
                "it grows more than {MAX_GROWTH} times when decompressed, which no recording does; decompress it yourself if you trust it"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(n)
    }
}

type Zstd<R> = ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>;

/// Reads Zstandard; a file may hold several frames, one after the other.
struct Frames<R: BufRead> {
    input: Option<R>,
    decoder: Option<Zstd<R>>,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let n = decoder.read(buffer)?;
                if n > 0 || buffer.is_empty() {
                    return Ok(n);
                }
                self.input = self.decoder.take().map(ruzstd::decoding::StreamingDecoder::into_inner);
            }
            let Some(mut input) = self.input.take() else { return Ok(0) };
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let mut frame = ruzstd::decoding::FrameDecoder::new();
            frame.set_max_window_size(MAX_WINDOW_BYTES);
            self.decoder = Some(Zstd::new_with_decoder(input, frame).map_err(io::Error::other)?);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = b"Nettrace and so on, and so on, and so on";

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        decompressed(io::Cursor::new(bytes))?.read_to_end(&mut out).map(|_| out)
    }

    fn gzip() -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(TEXT).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd() -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(TEXT, ruzstd::encoding::CompressionLevel::Fastest)
    }

    /// `TEXT`, compressed by `xz --check=crc32`.
    const XZ_TEXT: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x16,
        0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x27, 0x00, 0x1a, 0x5d, 0x00, 0x27, 0x19, 0x4a,
        0x98, 0x72, 0x31, 0x16, 0xdf, 0x10, 0x4a, 0xf6, 0xb6, 0x2d, 0x4c, 0xcc, 0x58, 0x5a, 0x83, 0x9a, 0x19,
        0xd2, 0xe2, 0x51, 0x41, 0x40, 0x00, 0x00, 0x00, 0x00, 0x6f, 0x47, 0xe9, 0x80, 0x00, 0x01, 0x32, 0x28,
        0xa0, 0x49, 0x43, 0xf8, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    #[test]
    fn the_first_bytes_tell_the_compression() {
        assert_eq!(read(XZ_TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(read(TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(read(gzip()).unwrap(), TEXT);
        assert_eq!(read(zstd()).unwrap(), TEXT);
        assert_eq!(read(Vec::new()).unwrap(), b"");
    }

    /// An endless run of zeros.
    struct Bomb;

    impl Read for Bomb {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(0);
            Ok(buffer.len())
        }
    }

    #[test]
    fn what_grows_out_of_proportion_ends() {
        let mut bomb = Vec::new();
        let most = 2 * SMALL_BYTES;
        flate2::read::GzEncoder::new(Bomb.take(most), flate2::Compression::best())
            .read_to_end(&mut bomb)
            .unwrap();
        let mut input = decompressed(io::Cursor::new(bomb)).unwrap();
        let mut buffer = vec![0; 1 << 20];
        let mut given = 0;
        let error = loop {
            match input.read(&mut buffer) {
                Ok(n) => given += n as u64,
                Err(error) => break error,
            }
        };
        assert!(given < most, "all of it was read");
        assert!(error.to_string().contains("more than 256 times"), "{error}");
    }

    #[test]
    fn a_window_that_is_only_claimed_is_not_made() {
        // The header of a Zstandard frame with a window of 64 GiB, and of an xz block with one of 4 GiB.
        let zstd = [ZSTD, &[0x00, 0xd0, 1, 0, 0]].concat();
        let mut xz = XZ_TEXT.to_vec();
        xz[16] = 40;
        // The checksum of the block header.
        xz[20..24].copy_from_slice(&[0xe6, 0xa0, 0x11, 0xb3]);
        for bytes in [zstd, xz] {
            let info = allocation_counter::measure(|| assert!(read(bytes).is_err()));
            assert!(info.bytes_max < 1 << 20, "{} bytes", info.bytes_max);
        }
    }

    #[test]
    fn one_file_may_hold_several_compressed_parts() {
        assert_eq!(read([gzip(), gzip()].concat()).unwrap(), [TEXT, TEXT].concat());
        assert_eq!(read([zstd(), zstd()].concat()).unwrap(), [TEXT, TEXT].concat());
    }

    #[test]
    fn a_truncated_input_is_an_error() {
        for bytes in [gzip(), zstd(), XZ_TEXT.to_vec()] {
            assert!(read(bytes[..bytes.len() - 6].to_vec()).is_err());
        }
    }
}

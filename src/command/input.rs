//! What is read: a file or stdin, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::exit::{Code, Failure};
use crate::sys;
use crate::watch::replay::Source;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Opens a recording; `-` is stdin. How it is compressed is told by its first bytes, not by its name.
///
/// # Errors
/// It cannot be opened, or is not readable from its start.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    let opened: io::Result<Box<dyn Read + Send>> = if path == Path::new("-") {
        decompressed(BufReader::with_capacity(1 << 16, io::stdin()))
    } else {
        File::open(path).and_then(|file| decompressed(BufReader::with_capacity(1 << 16, file)))
    };
    opened.map_err(|e| unreadable(path, &e.to_string()))
}

/// Opens a recording to be read from front to back, as [`open`] does.
///
/// # Errors
/// As those of [`open`].
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
        _ => open(path).map(Source::stream),
    }
}

/// A failure to read a recording.
pub(super) fn unreadable(path: &Path, why: &str) -> Failure {
    let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
    Failure::new(Code::BAD_INPUT, format!("cannot read {name}: {why}")).remedy(
        "a recording is a .nettrace file (or .gz, .xz, .zst of one), made by `gcwatch … --record FILE` or `dotnet-trace collect`",
    )
}

fn decompressed<R: BufRead + Send + 'static>(mut input: R) -> io::Result<Box<dyn Read + Send>> {
    // A pipe may give its first bytes one by one.
    let mut first = Vec::new();
    input.by_ref().take(XZ.len() as u64).read_to_end(&mut first)?;
    let input = io::Cursor::new(first.clone()).chain(input);
    Ok(if first.starts_with(GZIP) {
        Box::new(flate2::bufread::MultiGzDecoder::new(input))
    } else if first.starts_with(XZ) {
        Box::new(lzma_rust2::XzReader::new(input, true))
    } else if first.starts_with(ZSTD) {
        Box::new(Frames { input: Some(input), decoder: None })
    } else {
        Box::new(input)
    })
}

type Zstd<R> = ruzstd::decoding::StreamingDecoder<R, ruzstd::decoding::FrameDecoder>;

/// Zstandard: a file may be several frames, one after the other.
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
            self.decoder = Some(Zstd::new(input).map_err(io::Error::other)?);
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

    /// Of `xz --check=crc32`.
    const XZ_TEXT: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x16,
        0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x27, 0x00, 0x1a, 0x5d, 0x00, 0x27, 0x19, 0x4a,
        0x98, 0x72, 0x31, 0x16, 0xdf, 0x10, 0x4a, 0xf6, 0xb6, 0x2d, 0x4c, 0xcc, 0x58, 0x5a, 0x83, 0x9a, 0x19,
        0xd2, 0xe2, 0x51, 0x41, 0x40, 0x00, 0x00, 0x00, 0x00, 0x6f, 0x47, 0xe9, 0x80, 0x00, 0x01, 0x32, 0x28,
        0xa0, 0x49, 0x43, 0xf8, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    #[test]
    fn by_its_first_bytes() {
        assert_eq!(read(XZ_TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(read(TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(read(gzip()).unwrap(), TEXT);
        assert_eq!(read(zstd()).unwrap(), TEXT);
        assert_eq!(read(Vec::new()).unwrap(), b"");
    }

    #[test]
    fn several_in_one_file() {
        assert_eq!(read([gzip(), gzip()].concat()).unwrap(), [TEXT, TEXT].concat());
        assert_eq!(read([zstd(), zstd()].concat()).unwrap(), [TEXT, TEXT].concat());
    }

    #[test]
    fn cut_is_an_error_and_gives_what_was_there() {
        for bytes in [gzip(), zstd(), XZ_TEXT.to_vec()] {
            assert!(read(bytes[..bytes.len() - 6].to_vec()).is_err());
        }
    }
}

// The first 100 bytes of a SQLite file (https://www.sqlite.org/fileformat2.html, section 1.3).

/// The encoding of all text in a file.
package enum SQLiteTextEncoding: UInt32, Sendable {
    case utf8 = 1
    case utf16LittleEndian = 2
    case utf16BigEndian = 3
}

/// The parts of the header that reading needs.
struct SQLiteHeader {
    static let byteCount = 100
    static let magic = Array("SQLite format 3\u{0}".utf8)

    let pageSize: Int
    /// Bytes of each page without those reserved for extensions, which are at its end.
    let usableSize: Int
    /// The number of pages; `nil` if an old library has written the file since the number was stored.
    let pageCount: UInt32?
    let encoding: SQLiteTextEncoding
    /// Whether some pages say for other pages where these are referred to.
    let hasPointerMap: Bool

    init(_ bytes: [UInt8], path: String) throws(SQLiteFileError) {
        guard bytes.starts(with: Self.magic) else {
            let text = bytes.isEmpty ? "the file is empty" : "this is not a SQLite 3 file"
            throw SQLiteFileError(path: path, .header, text)
        }
        guard bytes.count >= Self.byteCount else {
            throw SQLiteFileError(path: path, .complete, "the file ends after \(bytes.count) bytes, within its header")
        }
        let size = bytes.sqliteUInt16(at: 16)
        pageSize = size == 1 ? 65_536 : size
        guard (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw SQLiteFileError(path: path, page: 1, .pageSize, "\(size) is not a page size")
        }
        usableSize = pageSize - Int(bytes[20])
        guard usableSize >= 480 else {
            throw SQLiteFileError(
                path: path, page: 1, .pageSize, "a page of \(pageSize) bytes cannot have \(bytes[20]) reserved bytes")
        }
        let count = bytes.sqliteUInt32(at: 28)
        pageCount = count > 0 && bytes.sqliteUInt32(at: 24) == bytes.sqliteUInt32(at: 92) ? count : nil
        // A file in which no text was ever stored has no encoding.
        let code = bytes.sqliteUInt32(at: 56)
        guard let encoding = SQLiteTextEncoding(rawValue: code == 0 ? 1 : code) else {
            throw SQLiteFileError(path: path, page: 1, .textEncoding, "the text encoding \(code) does not exist")
        }
        self.encoding = encoding
        hasPointerMap = bytes.sqliteUInt32(at: 52) != 0
    }
}

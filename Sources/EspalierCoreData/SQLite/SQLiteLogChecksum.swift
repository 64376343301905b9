// The checksum of a write-ahead log (https://www.sqlite.org/fileformat2.html, section 4.2).

/// The two running sums over words of four bytes.
package struct SQLiteLogChecksum {
    private let isBigEndian: Bool
    package private(set) var first: UInt32 = 0
    package private(set) var second: UInt32 = 0

    /// - Parameter isBigEndian: the order of the bytes of a word, which the lowest bit of the log's first number gives.
    package init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Adds bytes, a multiple of eight of them.
    package mutating func add(_ bytes: [UInt8], _ range: Range<Int>) {
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            first = first &+ word(bytes, offset) &+ second
            second = second &+ word(bytes, offset + 4) &+ first
        }
    }

    private func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        let word = bytes.sqliteUInt32(at: offset)
        return isBigEndian ? word : word.byteSwapped
    }
}

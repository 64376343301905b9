// Corrects the checksums of a mutated log of a SQLite file, as a forger would, so that fuzzing reaches the code after
// the checks: what a log claims, and the pages in it.

import EspalierCoreData

/// Repairs inputs of the body `sqlite`.
enum SQLiteLogRepair {
    static let headerByteCount = 32
    static let frameHeaderByteCount = 24

    /// Makes the log at the end of the input belong to its file, and corrects the checksums of all whole frames.
    ///
    /// - Returns: the offsets at which pages and frames begin.
    static func repair(_ bytes: inout [UInt8]) -> [Int] {
        guard bytes.count >= 2 else { return [0] }
        let log = bytes.count - min(Int(bytes[0]) | Int(bytes[1]) << 8, bytes.count - 2)
        guard log >= 20 else { return [0] }
        let size = Int(bytes[18]) << 8 | Int(bytes[19])
        let pageSize = size == 1 ? 65_536 : size
        guard (512...65_536).contains(pageSize), pageSize.nonzeroBitCount == 1 else { return [0, log] }
        // The tree of the schema begins after the header of the file.
        var landmarks = [0, min(102, bytes.count)] + stride(from: 2, to: log, by: pageSize)
        guard bytes.count - log >= headerByteCount else { return landmarks }
        let isBigEndian = bytes[log + 3] & 1 == 1
        write([0x377F_0682 | (isBigEndian ? 1 : 0), 3_007_000, UInt32(pageSize)], to: &bytes, at: log)
        var checksum = SQLiteLogChecksum(isBigEndian: isBigEndian)
        checksum.add(bytes, log..<log + 24)
        write([checksum.first, checksum.second], to: &bytes, at: log + 24)
        let frameByteCount = frameHeaderByteCount + pageSize
        var frame = log + headerByteCount
        while frame + frameByteCount <= bytes.count {
            landmarks += [frame, frame + frameHeaderByteCount]
            bytes.replaceSubrange(frame + 8..<frame + 16, with: Array(bytes[log + 16..<log + 24]))
            checksum.add(bytes, frame..<frame + 8)
            checksum.add(bytes, frame + frameHeaderByteCount..<frame + frameByteCount)
            write([checksum.first, checksum.second], to: &bytes, at: frame + 16)
            frame += frameByteCount
        }
        return landmarks
    }

    /// Writes numbers of four bytes, the greatest byte first.
    static func write(_ numbers: [UInt32], to bytes: inout [UInt8], at offset: Int) {
        for (place, number) in numbers.enumerated() {
            for index in 0..<4 {
                bytes[offset + 4 * place + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index))
            }
        }
    }
}

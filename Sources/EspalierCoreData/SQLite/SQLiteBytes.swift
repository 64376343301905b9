// Big-endian numbers and the variable-length integers of SQLite files, read from unchecked bytes.

extension [UInt8] {
    /// The unsigned number of two bytes at `offset`, which must be within the array.
    func sqliteUInt16(at offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }

    /// The unsigned number of four bytes at `offset`, which must be within the array.
    func sqliteUInt32(at offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
            | UInt32(self[offset + 3])
    }

    /// The signed number of `count` bytes, at most 8, at `offset`, which must be within the array.
    func sqliteInteger(at offset: Int, count: Int) -> Int64 {
        guard count > 0 else { return 0 }
        var number = Int64(Int8(bitPattern: self[offset]))
        for place in offset + 1..<offset + count { number = number << 8 | Int64(self[place]) }
        return number
    }

    /// Reads a variable-length integer at `offset` and moves `offset` after it.
    ///
    /// Each of the first eight bytes has seven bits and a mark that more follow; the ninth has eight bits.
    ///
    /// - Returns: `nil` if the integer does not end below `end`.
    @inline(__always)
    func sqliteVariableInteger(at offset: inout Int, below end: Int) -> UInt64? {
        guard offset < end else { return nil }
        let first = self[offset]
        offset += 1
        if first < 0x80 { return UInt64(first) }
        var number = UInt64(first & 0x7F)
        for place in 1..<9 {
            guard offset < end else { return nil }
            let byte = self[offset]
            offset += 1
            if place == 8 { return number << 8 | UInt64(byte) }
            number = number << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { break }
        }
        return number
    }
}

// The change that all tests of changes in place make; applied twice, it restores the bytes.

extension MutableRawSpan {
    /// Inverts every bit.
    package mutating func flip() {
        for offset in 0..<byteCount {
            // SAFETY: below the byte count.
            let byte = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            storeBytes(of: ~byte, toByteOffset: offset, as: UInt8.self)
        }
    }
}

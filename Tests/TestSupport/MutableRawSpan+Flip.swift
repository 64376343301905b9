// A change that every test of changes in place makes, and that made twice is none.

extension MutableRawSpan {
    /// Turns every bit over.
    package mutating func flip() {
        for offset in 0..<byteCount {
            // SAFETY: below the byte count.
            let byte = unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            storeBytes(of: ~byte, toByteOffset: offset, as: UInt8.self)
        }
    }
}

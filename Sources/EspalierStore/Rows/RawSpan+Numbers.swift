// Little-endian numbers in bytes at any address, aligned or not.

extension RawSpan {
    /// The little-endian number at `offset`.
    ///
    /// The bytes must be within the span: decoders check lengths first.
    @inline(__always)
    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type = Number.self)
        -> Number
    {
        precondition(offset >= 0 && offset <= byteCount - MemoryLayout<Number>.size, "number outside its bytes")
        // SAFETY: in bounds by the line above; every bit pattern is a valid integer.
        return unsafe Number(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    /// The byte at `offset`.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 { number(at: offset, as: UInt8.self) }

    /// A copy of the bytes in `range`.
    func copy(_ range: Range<Int>) -> [UInt8] {
        assert(range.lowerBound >= 0 && range.upperBound <= byteCount, "bytes \(range) of \(byteCount)")
        // SAFETY: the buffer does not leave the closure.
        return unsafe extracting(range).withUnsafeBytes { unsafe [UInt8]($0) }
    }
}

extension MutableRawSpan {
    /// Writes the little-endian bytes of `number` over those at `offset`.
    @inline(__always)
    mutating func write<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
        storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
    }

    /// Writes `bytes` over those at `offset`.
    @inline(__always)
    mutating func write(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && offset <= byteCount - bytes.byteCount, "bytes outside their place")
        // SAFETY: in bounds by the line above.
        unsafe withUnsafeMutableBytes { own in
            unsafe bytes.withUnsafeBytes { bytes in
                guard let start = own.baseAddress, let source = bytes.baseAddress else { return }
                unsafe (start + offset).copyMemory(from: source, byteCount: bytes.count)
            }
        }
    }

    /// Makes the bytes in `range` zero.
    @inline(__always)
    mutating func clear(_ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "bytes outside their place")
        // SAFETY: in bounds by the line above.
        unsafe withUnsafeMutableBytes { own in
            guard let start = own.baseAddress else { return }
            unsafe (start + range.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: range.count)
        }
    }

    /// Writes `bytes` over those at `offset`.
    mutating func write(_ bytes: [UInt8], at offset: Int) { bytes.withRawSpan { write($0, at: offset) } }
}

extension [UInt8] {
    /// Calls `body` with the bytes in `range`, in place.
    @inline(__always)
    func withRawSpan<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        // SAFETY: a byte has no padding; the span does not outlive this call.
        let all = unsafe span.bytes
        return try body(all.extracting(range))
    }

    /// Calls `body` with all bytes, in place.
    @inline(__always)
    func withRawSpan<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try withRawSpan(0..<count, body)
    }

    /// Calls `body` with all bytes, to change them in place.
    @inline(__always)
    mutating func withMutableRawSpan<R>(_ body: (inout MutableRawSpan) -> R) -> R {
        // SAFETY: the span does not outlive this call.
        unsafe withUnsafeMutableBytes { buffer in
            var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
            return body(&span)
        }
    }

    /// The little-endian number at `offset`, which must be within the bytes.
    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type = Number.self)
        -> Number
    {
        withRawSpan { $0.number(at: offset) }
    }

    /// Appends the little-endian bytes of `number`.
    @inline(__always)
    mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        // SAFETY: the buffer of the local copy does not leave the closure.
        unsafe Swift.withUnsafeBytes(of: number.littleEndian) { unsafe append(contentsOf: $0) }
    }

    /// Appends the big-endian bytes of `number`: in this order, bytes compare like the number.
    @inline(__always)
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        // SAFETY: the buffer of the local copy does not leave the closure.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Writes the little-endian bytes of `number` over those at `offset`.
    @inline(__always)
    mutating func write<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Number>.size, "number outside its bytes")
        // SAFETY: in bounds by the line above.
        unsafe withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
        }
    }

    /// Appends a copy of `bytes`.
    @inline(__always)
    mutating func append(copying bytes: RawSpan) {
        // SAFETY: the buffer does not leave the closure.
        unsafe bytes.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}

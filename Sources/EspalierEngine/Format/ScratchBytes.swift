// Temporary memory for bytes that are copied between files and pages.

/// Temporary memory, freed at the end of its scope.
@safe
package struct ScratchBytes: ~Copyable {
    /// The bytes, which `init` does not initialize.
    package let buffer: UnsafeMutableRawBufferPointer

    /// Allocates `byteCount` bytes.
    package init(byteCount: Int) {
        // SAFETY: freed in `deinit`; page aligned, so that pages and 64-bit words in it are too.
        unsafe buffer = .allocate(byteCount: byteCount, alignment: 4096)
    }

    deinit {
        // SAFETY: allocated by `init`, and no view outlives its owner.
        unsafe buffer.deallocate()
    }

    /// The number of bytes.
    package var byteCount: Int {
        // SAFETY: only the count is read.
        unsafe buffer.count
    }

    /// Views the bytes from `offset` on.
    package func view(at offset: Int, byteCount: Int? = nil) -> PageView {
        // SAFETY: the precondition reads only the count, and ensures that the view begins within the bytes.
        precondition(offset >= 0 && offset + (byteCount ?? 0) <= (unsafe buffer.count))
        return unsafe PageView(
            base: buffer.baseAddress.unsafelyUnwrapped + offset, byteCount: byteCount ?? buffer.count - offset)
    }

    /// Calls `body` with the bytes in `range`, which were written before.
    package func with<R>(_ range: Range<Int>, _ body: (RawSpan) -> R) -> R {
        // SAFETY: the precondition reads only the count, and ensures that the range is in bounds, during the call.
        precondition(range.lowerBound >= 0 && range.upperBound <= (unsafe buffer.count))
        return unsafe body(UnsafeRawBufferPointer(rebasing: buffer[range]).bytes)
    }

    /// Copies `bytes` to `offset`.
    package func store(_ bytes: [UInt8], at offset: Int) {
        precondition(offset >= 0 && offset + bytes.count <= byteCount)
        // SAFETY: in bounds by the line above.
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + bytes.count]).copyBytes(from: bytes)
    }

    /// Writes the bytes in `range` to a file.
    package func write(_ range: Range<Int>, to file: any StorageFile, at offset: UInt64) throws(StorageError) {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount)
        // SAFETY: in bounds by the line above.
        unsafe try file.writeFully(UnsafeRawBufferPointer(rebasing: buffer[range]), at: offset)
    }

    /// Reads from a file into the bytes in `range`; returns how many bytes the file had.
    package func read(_ range: Range<Int>, from file: any StorageFile, at offset: UInt64) throws(StorageError) -> Int {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount)
        // SAFETY: in bounds by the line above.
        return unsafe try file.readFully(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[range]), at: offset)
    }

    /// Calls `body`, which may throw, with the bytes in `range`, which were written before.
    package func withThrowing<R>(
        _ range: Range<Int>, _ body: (RawSpan) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= byteCount)
        // SAFETY: in bounds by the line above, and alive during the call.
        return unsafe try body(UnsafeRawBufferPointer(rebasing: buffer[range]).bytes)
    }
}

// libFuzzer's functions in Swift; compiled together with each target, never by the package.

import FuzzBodies

// SAFETY: the signature is that of libFuzzer's `size_t LLVMFuzzerMutate(uint8_t *, size_t, size_t)`.
@_silgen_name("LLVMFuzzerMutate")
private func libFuzzerMutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int) -> Int

/// Runs a body on the bytes that libFuzzer passes.
func fuzz(_ body: FuzzBody, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    body.run([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// Replaces the bytes in libFuzzer's buffer by a mutation of them; returns the new number of bytes.
func mutate(
    _ body: FuzzBody, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ countMax: Int, _ seed: UInt32
) -> Int {
    let input = [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    let result = body.mutated(input, byteCountMax: countMax, seed: seed) { part, partCountMax in
        var buffer = part + [UInt8](repeating: 0, count: max(0, partCountMax - part.count))
        let changed = buffer.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { libFuzzerMutate($0, part.count, partCountMax) } ?? 0
        }
        return Array(buffer.prefix(changed))
    }
    _ = UnsafeMutableBufferPointer(start: bytes, count: countMax).update(fromContentsOf: result)
    return result.count
}

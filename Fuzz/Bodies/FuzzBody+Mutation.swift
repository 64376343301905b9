// Structure-aware mutation: changes bytes near the starts of structures, then repairs checksums, because otherwise the
// hash of each page would stop the fuzzer at once.
//
// Invariants
//   1. The same bytes and seed give the same result, except for changes of the fuzzer's own mutator.
//   2. One mutation in sixteen is left unrepaired, because the checks of checksums are code too.

import TestSupport

extension FuzzBody {
    /// The fuzzer's own mutator: changes bytes, and returns at most `byteCountMax` of them.
    public typealias PlainMutator = (_ bytes: [UInt8], _ byteCountMax: Int) -> [UInt8]

    /// Changes `bytes` into another input of at most `byteCountMax` bytes.
    public func mutated(_ bytes: [UInt8], byteCountMax: Int, seed: UInt32, plain: PlainMutator) -> [UInt8] {
        guard let repair else { return plain(bytes, byteCountMax) }
        var chance = SeededGenerator(seed: UInt64(seed))
        var result = bytes
        if Int.random(in: 0..<16, using: &chance) == 0 { return plain(result, byteCountMax) }
        var copy = result
        let landmarks = repair(&copy)
        for _ in 0..<Int.random(in: 1...4, using: &chance) where !result.isEmpty {
            change(&result, near: landmarks, &chance, plain)
        }
        if result.count > byteCountMax { result.removeLast(result.count - byteCountMax) }
        _ = repair(&result)
        return result
    }

    private func change(
        _ bytes: inout [UInt8], near landmarks: [Int], _ chance: inout SeededGenerator, _ plain: PlainMutator
    ) {
        let landmark = landmarks.randomElement(using: &chance) ?? 0
        let offset = min(
            bytes.count - 1,
            Bool.random(using: &chance)
                ? landmark + Int.random(in: 0..<96, using: &chance)
                : Int.random(in: 0..<bytes.count, using: &chance))
        switch Int.random(in: 0..<8, using: &chance) {
        case 0: write(UInt64.random(in: 0..<24, using: &chance), byteCount: 4, to: &bytes, at: offset & ~3)
        case 1:
            let numbers: [UInt64] = [0, 1, 31, 32, 4095, 4096, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF]
            write(numbers.randomElement(using: &chance) ?? 0, byteCount: 2, to: &bytes, at: offset & ~1)
        case 2:
            let number = UInt64.max >> UInt64.random(in: 0..<64, using: &chance)
            write(number, byteCount: 8, to: &bytes, at: offset & ~7)
        case 3:
            // Copies one structure over another, so that pages point to themselves and entries occur twice.
            let source = min(landmarks.randomElement(using: &chance) ?? 0, bytes.count - 1)
            let target = min(landmark, bytes.count - 1)
            let count = min([16, 48, 512, 4096].randomElement(using: &chance) ?? 16, bytes.count - max(source, target))
            bytes.replaceSubrange(target..<target + count, with: Array(bytes[source..<source + count]))
        case 4 where Int.random(in: 0..<8, using: &chance) == 0: bytes.removeLast(bytes.count - offset)
        default:
            let end = min(bytes.count, offset + Int.random(in: 1...32, using: &chance))
            let changed = plain(Array(bytes[offset..<end]), end - offset)
            bytes.replaceSubrange(offset..<offset + changed.count, with: changed)
        }
    }

    private func write(_ number: UInt64, byteCount: Int, to bytes: inout [UInt8], at offset: Int) {
        for index in 0..<byteCount where offset + index < bytes.count {
            bytes[offset + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * index))
        }
    }
}

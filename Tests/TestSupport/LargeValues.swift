// Stores of large values: page size, cache and lengths as a seed draws them.
//
// Invariants
//   1. Caches are the smallest there is, 16 pages, or a little larger: the largest values fit into none.

package import EspalierEngine

/// What a campaign over large values varies.
package enum LargeValues {
    /// The greatest length of a value in MiB, 2 to 64: `ESPALIER_LARGE_MIB`.
    package static let mebibytes = min(max(campaignCount("ESPALIER_LARGE_MIB", default: 2), 2), 64)

    /// How many seeds each campaign takes: `ESPALIER_LARGE_SEEDS`.
    package static let seeds = 0..<UInt64(campaignCount("ESPALIER_LARGE_SEEDS", default: 1))

    /// Pages of 4 to 64 KiB, the smallest cache or one of 20 pages, a log that turns over.
    package static func options(seed: UInt64) -> DatabaseOptions {
        var chance = SeededGenerator(seed: seed)
        var options = DatabaseOptions()
        options.pageSize = 4096 << Int.random(in: 0...4, using: &chance)
        options.cacheByteCount = Int.random(in: 0..<4, using: &chance) == 0 ? 20 * options.pageSize : 0
        options.logSegmentByteCount = [64 << 10, 1 << 20].randomElement(using: &chance) ?? 64 << 10
        options.logSoftCap = 4 << 20
        options.checkpointThreshold = [64 << 10, 4 << 20].randomElement(using: &chance) ?? 64 << 10
        return options
    }

    /// A value of 1 MiB up to the greatest length, of one byte.
    package static func value(_ chance: inout SeededGenerator) -> [UInt8] {
        let byteCount = Int.random(in: 1 << 20...mebibytes << 20, using: &chance)
        return [UInt8](repeating: UInt8.random(in: 1...255, using: &chance), count: byteCount)
    }

    /// A value of the greatest length.
    package static func largest(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: mebibytes << 20) }
}

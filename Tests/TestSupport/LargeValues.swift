// Stores of large values: a seed draws page size, cache size and lengths.
//
// Invariants
//   1. A cache has the minimum of 16 pages, or 20 pages: the largest values do not fit into it.

package import EspalierEngine

/// The parameters of campaigns over large values.
package enum LargeValues {
    /// The greatest length of a value in MiB, 2 to 64: `ESPALIER_LARGE_MIB`.
    package static let mebibytes = min(max(campaignCount("ESPALIER_LARGE_MIB", default: 2), 2), 64)

    /// The seeds of each campaign; `ESPALIER_LARGE_SEEDS` says how many.
    package static let seeds = 0..<UInt64(campaignCount("ESPALIER_LARGE_SEEDS", default: 1))

    /// Pages of 4 to 64 KiB, the smallest cache or one of 20 pages, and a log whose segments are soon reused.
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

    /// A value of 1 MiB up to the greatest length, all bytes alike.
    package static func value(_ chance: inout SeededGenerator) -> [UInt8] {
        let byteCount = Int.random(in: 1 << 20...mebibytes << 20, using: &chance)
        return [UInt8](repeating: UInt8.random(in: 1...255, using: &chance), count: byteCount)
    }

    /// A value of the greatest length, every byte of it `byte`.
    package static func largest(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: mebibytes << 20) }
}

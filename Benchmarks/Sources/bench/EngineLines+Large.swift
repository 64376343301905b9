// Lines on large values and large batches, and the removal of all records in order.

import BenchKit
import Foundation

extension EngineLines {
    /// `fillbatch` and `deleteseq`.
    func batchLines() -> [() -> Line] {
        [
            {
                writes(
                    "fillbatch", .integer, .never, shuffled(), batch: 10_000, "random keys, 10,000 a transaction")
            },
            {
                writes(
                    "deleteseq", .integer, .never, sequential, batch: 1000, isLoaded: true, isRemoval: true,
                    "all keys of a loaded store in order, 1000 a transaction, not synced")
            },
        ]
    }

    /// Values of 100,000 bytes.
    func largeLines() -> [() -> Line] {
        let count = scale.records / 500
        let value = [UInt8](repeating: 0x5A, count: 100_000)
        let keys = Array(shuffled().prefix(count))
        return [
            { writes("fill100K", .integer, .never, keys, batch: 1, value: value, "1 a transaction, not synced") },
            {
                Line(
                    "read100K u64",
                    note: "every cache line of the value is read; Espalier lends it page by page, the others in one "
                        + "piece",
                    operationCount: count,
                    contenders: contenderTypes.map { type in
                        let store = LoadedStore {
                            let store = try type.init(
                                folder: try emptyFolder("large-" + type.name), shape: .integer, sync: .never,
                                cacheByteCount: cacheByteCount)
                            try store.put(keys, value: value, batch: 10)
                            return store
                        }
                        return Line.Contender(type.name) {
                            let store = try store.value
                            return try nanoseconds {
                                blackHole(try store.getLarge(keys))
                            }
                        }
                    })
            },
        ]
    }
}

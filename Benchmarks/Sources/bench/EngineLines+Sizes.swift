// The bytes of the files: after loading, after churn, after removing half, after compaction.

import BenchKit
import Foundation

extension EngineLines {
    /// The lines of file bytes per row.
    func sizeLines() -> [() -> Line] {
        [
            { size("file after random load", "closed, bytes per row of 108", rows: scale.records) { _ in } },
            {
                size(
                    "file after churn", "half removed and inserted again at random, closed, bytes per row",
                    rows: scale.records
                ) {
                    let half = Array(shuffled().prefix(scale.records / 2))
                    try $0.remove(half, batch: 1000)
                    try $0.put(half, value: value, batch: 1000)
                }
            },
            {
                size(
                    "file after removal", "half removed at random, closed, bytes per remaining row",
                    rows: scale.records / 2
                ) {
                    try $0.remove(Array(shuffled().prefix(scale.records / 2)), batch: 1000)
                }
            },
            {
                size(
                    "file after compaction", "the same, then compacted: VACUUM, mdb_env_copy2; bytes per remaining row",
                    rows: scale.records / 2, compacts: true
                ) {
                    try $0.remove(Array(shuffled().prefix(scale.records / 2)), batch: 1000)
                }
            },
        ]
    }

    private func size(
        _ name: String, _ note: String, rows: Int, compacts: Bool = false,
        _ body: @escaping (any KeyValueContender) throws -> Void
    ) -> Line {
        Line(
            name, note: note, unit: .bytes, operationCount: rows,
            contenders: contenderTypes.map { type in
                Line.Contender(type.name) {
                    let place = try emptyFolder(type.name)
                    try {
                        let store = try type.init(
                            folder: place, shape: .integer, sync: .never, cacheByteCount: cacheByteCount)
                        try store.put(shuffled(), value: value, batch: 1000)
                        try body(store)
                        if compacts { try store.compactAndClose() } else { try store.close() }
                    }()
                    return Double(try byteCount(ofFolder: place))
                }
            })
    }
}

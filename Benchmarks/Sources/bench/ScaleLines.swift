// The cost of an operation, and memory, as stores grow; and the start of a process that gets one value.
//
// Invariants
//   1. Every run of a store size is a process of its own, so that its peak memory is its own. Small stores run several
//      times, in turn with the peers; 10,000,000 rows run once.
//   2. Objects are inserted in one save, so no store has more than 1,000,000 of them.

import BenchKit
import Foundation

struct ScaleLines {
    let counts: [Int]
    let folder: URL

    /// A table of lines for each store size, with one line for each figure.
    func all() -> [() -> Line] {
        let time: [(String, String)] = [
            ("fillseq", "ascending keys, 1000 a transaction, not synced"),
            ("readrandom", "100,000 reads, one transaction"),
            ("seekrandom", "seek and 10 entries"), ("readseq", "the whole tree"),
            ("overwrite", "100,000 random keys, 1000 a transaction, not synced"),
        ]
        let bytes: [(String, String)] = [
            ("file", "bytes per row of 108 after fillseq"),
            ("memory after fillseq", "peak resident bytes; cache 64 MiB; LMDB's counts its mapped file"),
            ("memory at the end", "the same, after reads and overwrites"),
        ]
        let objectTime: [(String, String)] = [
            ("objects insert", "people with team and index, one save, durable"),
            ("objects fetch whole", "one after the other, every attribute read"),
            ("objects walk to-one", "one after the other, the team's name of every person"),
            ("objects by index", "20,000 by e-mail address, one by one"),
            ("objects update", "every person, one save, durable"),
        ]
        let (rows, objects) = (Runs("scale", folder: folder), Runs("grow", folder: folder))
        func lines(
            _ figures: [(String, String)], _ unit: Line.Unit, _ runs: Runs, _ counts: [Int], _ contenders: [String]
        ) -> [() -> Line] {
            figures.flatMap { figure, note in
                counts.map { count in
                    {
                        Line(
                            "\(figure) \(count)", note: note, unit: unit,
                            contenders: contenders.map { name in
                                Line.Contender(name) { try runs.figure(figure, name, count) }
                            })
                    }
                }
            }
        }
        let engines = ChildRun.contenders.map { $0.name }
        let (objectCounts, stores) = (counts.filter { $0 <= 1_000_000 }, engines.filter { $0 != LMDBContender.name })
        return lines(time, .time, rows, counts, engines) + lines(bytes, .bytes, rows, counts, engines)
            + lines(objectTime, .time, objects, objectCounts, stores)
    }

    /// The largest number of runs of one store size.
    static let runCountMax = 5

    /// The figures of the processes that have run.
    private final class Runs {
        private let work: String
        private let folder: URL
        /// The figures of each run, by contender and size.
        private var figures: [String: [[String: Double]]] = [:]
        /// The number of requests for each figure so far.
        private var turns: [String: Int] = [:]

        init(_ work: String, folder: URL) { (self.work, self.folder) = (work, folder) }

        /// The figure of the next run; after the last run, that of the first one again.
        func figure(_ figure: String, _ contender: String, _ count: Int) throws -> Double {
            let key = "\(contender)-\(count)"
            let runCount = count <= 100_000 ? ScaleLines.runCountMax : count <= 1_000_000 ? 3 : 1
            let turn = turns["\(figure) \(key)", default: 0] % runCount
            turns["\(figure) \(key)", default: 0] += 1
            if figures[key, default: []].count == turn {
                let place = folder.appendingPathComponent("\(work)-\(key)")
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: place) }
                let run = try ChildRun.start([work, contender, "\(count)", place.path])
                figures[key, default: []].append(run)
            }
            guard let value = figures[key]?[turn][figure] else { throw ChildFailure(arguments: [figure, key]) }
            return value
        }
    }
}

extension EngineLines {
    /// A process that opens the loaded store and gets one value, against one that does nothing.
    func startLines() -> [() -> Line] {
        [
            {
                let places = contenderTypes.map { type in
                    LazyPlace { try placeOfLoaded(type, .integer) }
                }
                var contenders = zip(contenderTypes, places).map { type, place in
                    Line.Contender(type.name) {
                        let path = try place.value
                        return try ChildRun.timeOfStarts(["start", type.name, path])
                    }
                }
                contenders.append(
                    Line.Contender("bare process") { try ChildRun.timeOfStarts(["start"]) })
                return Line(
                    "start a process, get one value", note: "wall clock, open to exit",
                    operationCount: ChildRun.startCount, contenders: contenders)
            }
        ]
    }
}

/// A folder that is filled at its first use.
private final class LazyPlace {
    private let make: () throws -> String
    private var made: String?

    init(_ make: @escaping () throws -> String) { self.make = make }

    var value: String {
        get throws {
            if let made { return made }
            let place = try make()
            made = place
            return place
        }
    }
}

// One owner with very many members: the cost of one more member, and the memory of deleting the owner.
//
// Invariants
//   1. One process makes each store, and every figure is from a process of its own, so that its peak memory is its own.
//   2. Both contenders make one durable transaction for each member, and count all members after each.

import BenchKit
import Foundation
import Peers

struct MemberLines {
    /// The number of members of the one owner.
    let count: Int
    let folder: URL

    /// The number of members that a run adds.
    static let additionCount = 50

    func all() -> [() -> Line] {
        let runs = MemberRuns(count: count, folder: folder)
        var names = [EspalierFolders.name]
        if SQLite.shared != nil { names.append(SQLiteFolders.name) }
        let lines: [(String, String, String, Line.Unit, Int)] = [
            ("relate one more", "relate", "insert one, save, count all", .time, Self.additionCount),
            ("relate memory", "relate", "peak resident bytes of that process, cache 32 MiB", .bytes, 1),
            ("delete with all", "cascade", "the owner is deleted, and all members with it", .time, count),
            ("delete memory", "cascade", "peak resident bytes of that process, cache 32 MiB", .bytes, 1),
        ]
        return lines.map { name, work, note, unit, operations in
            {
                Line(
                    "\(name), \(count) members", note: note, unit: unit, operationCount: operations,
                    contenders: names.map { contender in
                        Line.Contender(contender) { try runs.figure(name, work, contender) }
                    })
            }
        }
    }
}

/// The stores, and the figures of the processes that used them.
private final class MemberRuns {
    private let count: Int
    private let folder: URL
    private var figures: [String: [String: Double]] = [:]

    init(count: Int, folder: URL) { (self.count, self.folder) = (count, folder) }

    /// A memory figure of the latest run, or the time of a new run, which uses a new copy of the store.
    func figure(_ name: String, _ work: String, _ contender: String) throws -> Double {
        let key = work + contender
        if !name.hasSuffix("memory") || figures[key] == nil {
            let original = folder.appendingPathComponent("members-\(contender)")
            if !FileManager.default.fileExists(atPath: original.path) {
                try FileManager.default.createDirectory(at: original, withIntermediateDirectories: true)
                _ = try ChildRun.start(["fill", contender, "\(count)", original.path])
            }
            let copy = folder.appendingPathComponent("members-\(contender)-\(work)")
            try? FileManager.default.removeItem(at: copy)
            try FileManager.default.copyItem(at: original, to: copy)
            figures[key] = try ChildRun.start([work, contender, "\(count)", copy.path])
        }
        guard let value = figures[key]?[name] else { throw ChildFailure(arguments: [work, contender]) }
        return value
    }
}

extension ChildRun {
    /// Makes a store of one owner with `count` members, adds some members, or deletes the owner.
    static func members(_ work: String, _ contender: String, _ count: Int, _ folder: String) throws {
        let type: any FolderContender.Type =
            contender == EspalierFolders.name ? EspalierFolders.self : SQLiteFolders.self
        let store = try type.init(folder: folder)
        switch work {
        case "fill": try store.insert(count)
        case "relate":
            var total = 0
            print("relate one more \(try nanoseconds { total = try store.relate(MemberLines.additionCount) })")
            let expected = count + MemberLines.additionCount
            guard total == expected else { throw WrongResult(expected: expected, found: total) }
            print("relate memory \(try MemoryRun.peakByteCount())")
        default:
            var left = -1
            print("delete with all \(try nanoseconds { left = try store.deleteFolder() })")
            guard left == 0 else { throw WrongResult(expected: 0, found: left) }
            print("delete memory \(try MemoryRun.peakByteCount())")
        }
        try store.close()
    }
}

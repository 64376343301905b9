// Dumps: all rows of a store as text, by `dbtool dump --json`. The peer is the shell of SQLite with `.dump`; where that
// program is missing, statements of its C API that print the same text.
//
// Invariants
//   1. Both stores have the same people and teams (ObjectContender). The time is that of a whole process from its start
//      to its end, or, of the C API, from opening to closing. The text goes to no file.

import BenchKit
import Foundation
import Peers

struct DumpLines {
    let count: Int
    let folder: URL
    /// The path of `dbtool`; `nil` = that of the package's release build.
    let toolPath: String?

    func all() -> [() -> Line] {
        var contenders: [Line.Contender] = []
        let tools = [toolPath].compactMap(\.self) + [".build/release/dbtool", "../.build/release/dbtool"]
        let tool = tools.first { FileManager.default.isExecutableFile(atPath: $0) }
        if let tool {
            contenders.append(
                Line.Contender("espalier") {
                    let place = try filled(EspalierObjects.self)
                    return try Self.time(of: tool, ["dump", place + "/objects.espalier", "--json"])
                })
        }
        if SQLite.shared != nil {
            contenders.append(
                Line.Contender("sqlite") {
                    let path = try filled(SQLiteObjects.self) + "/objects.sqlite"
                    if let shell = Self.program("sqlite3") { return try Self.time(of: shell, [path, ".dump"]) }
                    return try nanoseconds { try SQLiteDump(path: path).dump() }
                })
        }
        guard !contenders.isEmpty else { return [] }
        let line = Line(
            "dump",
            note: "\(count) people and their teams; JSON lines, and SQL statements"
                + (tool == nil ? "; dbtool is missing: swift build -c release" : ""),
            operationCount: count + People(count: count).teamCount, contenders: contenders)
        return [{ line }]
    }

    /// The folder of a store with all people, which is filled once.
    private func filled<Contender: ObjectContender>(_ type: Contender.Type) throws -> String {
        let place = folder.appendingPathComponent("dump-\(type.name)").path
        if !FileManager.default.fileExists(atPath: place) {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let store = try type.init(folder: place)
            try store.fill(People(count: count))
            try store.close()
        }
        return place
    }

    /// The path of a program; `nil` if the machine does not have it.
    private static func program(_ name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program whose output nobody reads; returns its time in nanoseconds, or its processor time.
    private static func time(of path: String, _ arguments: [String]) throws -> Double {
        let words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        var usage = rusage()
        let time = try wallNanoseconds {
            var (child, status): (pid_t, Int32) = (0, 0)
            guard posix_spawn(&child, path, &actions, nil, words + [nil], environ) == 0,
                wait4(child, &status, 0, &usage) == child, status == 0
            else { throw ChildFailure(arguments: [path] + arguments) }
        }
        guard countsProcessorTime else { return time }
        var nanoseconds = 0.0
        for time in [usage.ru_utime, usage.ru_stime] {
            nanoseconds += Double(time.tv_sec) * 1e9
            nanoseconds += Double(time.tv_usec) * 1e3
        }
        return nanoseconds
    }
}

/// A dump by SQLite's C API: an INSERT statement for each row.
private final class SQLiteDump: SQLiteTables {
    private static let quote = UInt8(ascii: "'")
    private static let blockByteCount = 1 << 16
    private var bytes: [UInt8] = []

    /// Prints all rows to no file, and closes the database.
    func dump() throws {
        guard let output = FileHandle(forWritingAtPath: "/dev/null") else {
            throw PeerError(peer: "dump", code: -1, message: "/dev/null cannot be opened")
        }
        try dump("team", columnCount: 3, texts: [2], to: output)
        try dump("person", columnCount: 7, texts: [2, 5], to: output)
        output.write(Data(bytes))
        try close()
    }

    private func dump(_ table: String, columnCount: Int32, texts: Set<Int32>, to output: FileHandle) throws {
        let rows = try statement("SELECT * FROM \(table)")
        let head = Array("INSERT INTO \(table) VALUES(".utf8)
        while library.step(rows) == SQLite.row {
            bytes += head
            for column in 0..<columnCount {
                if column > 0 { bytes.append(UInt8(ascii: ",")) }
                let value = UnsafeBufferPointer(
                    start: library.columnText(rows, column), count: Int(library.columnBytes(rows, column)))
                guard texts.contains(column) else {
                    bytes += value
                    continue
                }
                bytes.append(Self.quote)
                for byte in value {
                    if byte == Self.quote { bytes.append(byte) }
                    bytes.append(byte)
                }
                bytes.append(Self.quote)
            }
            bytes += Array(");\n".utf8)
            guard bytes.count > Self.blockByteCount else { continue }
            output.write(Data(bytes))
            bytes.removeAll(keepingCapacity: true)
        }
        _ = library.reset(rows)
    }
}

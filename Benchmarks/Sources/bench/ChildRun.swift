// Work that is measured in a process of its own: start-up, and memory and cost as stores grow.
//
//   bench --child start CONTENDER FOLDER        opens the store and gets one value
//   bench --child fetch CONTENDER FOLDER        opens a store of people and fetches one of them
//   bench --child keep CONTENDER FOLDER         fetches all of them and keeps them
//   bench --child scale CONTENDER COUNT FOLDER  loads, reads, scans, overwrites; prints a figure a line
//   bench --child lay CONTENDER COUNT FOLDER    makes a store of songs for checks
//   bench --child check CONTENDER FOLDER        checks it; prints time, peak memory and bytes of the store
//   bench --child spoil CONTENDER FOLDER        removes everything that a rebuild restores
//   bench --child rebuild CONTENDER FOLDER      rebuilds it; prints time and peak memory
//   bench --child fill CONTENDER COUNT FOLDER   makes a store of one owner with many members
//   bench --child relate CONTENDER COUNT FOLDER adds members one by one; prints time and peak memory
//   bench --child cascade CONTENDER COUNT FOLDER deletes the owner with its members; prints time and peak memory
//   bench --child grow CONTENDER COUNT FOLDER   inserts, fetches, walks, updates people; prints a figure a line
//   bench --child memory WORK COUNT FOLDER      keeps objects; prints the memory that they take
//   bench --child line NAME COUNT TIMES FOLDER  does the work of one object line so many times; prints a figure each
//   bench --child operation NAME COUNT FOLDER   does one operation of `bench --growth`; the store stays in the folder
//
// Invariants
//   1. A child prints only lines `name figure`, which the parent process reads.

import BenchKit
import Foundation
import Peers

enum ChildRun {
    /// The contenders that this machine has.
    static var contenders: [any KeyValueContender.Type] {
        var types: [any KeyValueContender.Type] = [EspalierContender.self]
        if SQLite.shared != nil { types.append(SQLiteContender.self) }
        if LMDB.shared != nil { types.append(LMDBContender.self) }
        return types
    }

    /// The contender called `name`; its look-up loads no other contender's library.
    private static func contender(_ name: String) -> (any KeyValueContender.Type)? {
        let types: [any KeyValueContender.Type] = [EspalierContender.self, SQLiteContender.self, LMDBContender.self]
        return types.first { $0.name == name }
    }

    /// Does the work that the arguments after `--child` name.
    static func run(_ arguments: [String]) throws {
        let arguments = arguments.filter { $0 != "--cpu-time" }
        if arguments.count == 3, arguments[0] == "fetch" || arguments[0] == "keep" {
            return try people(arguments[0], arguments[1], arguments[2])
        }
        if arguments.first == "lay", arguments.count == 4, let count = Int(arguments[2]) {
            if arguments[1] == EspalierSongs.name { return try EspalierSongs.lay(count, arguments[3]) }
            return try SQLiteSongs(folder: arguments[3]).lay(count)
        }
        if arguments.count == 4, ["fill", "relate", "cascade"].contains(arguments[0]), let count = Int(arguments[2]) {
            return try members(arguments[0], arguments[1], count, arguments[3])
        }
        if arguments.first == "check", arguments.count == 3 { return try check(arguments[1], arguments[2]) }
        if arguments.first == "spoil", arguments.count == 3 { return try EspalierSongs.spoil(arguments[2]) }
        if arguments.first == "rebuild", arguments.count == 3 { return try rebuild(arguments[1], arguments[2]) }
        if arguments.first == "grow", arguments.count == 4, let count = Int(arguments[2]) {
            return try grow(arguments[1], count, arguments[3])
        }
        if arguments.first == "memory", arguments.count == 4, let count = Int(arguments[2]) {
            return try MemoryLines.run(arguments[1], count, arguments[3])
        }
        if arguments.first == "line", arguments.count == 5 {
            guard let count = Int(arguments[2]), let times = Int(arguments[3]) else { throw UsageError("--child line") }
            for _ in 0..<times { try line(arguments[1], People(count: count), arguments[4]) }
            return
        }
        if arguments.first == "operation", arguments.count == 4, let count = Int(arguments[2]) {
            return try GrowthRun.operate(arguments[1], count, in: URL(fileURLWithPath: arguments[3]))
        }
        guard arguments.count >= 3, let type = contender(arguments[1]) else {
            // The bare process, the baseline of the other start-ups.
            if arguments.first == "start" { return }
            throw UsageError("--child start|scale CONTENDER ... is only for bench itself")
        }
        if arguments[0] == "scale", arguments.count == 4, let count = Int(arguments[2]) {
            return try scale(type, count, arguments[3])
        }
        let store = try type.init(folder: arguments[2], shape: .integer, sync: .never, cacheByteCount: 32 << 20)
        print("sum \(try store.get([17], transactionPerRead: false))")
        try store.close()
    }

    /// Fetches one person by e-mail address, or all of them to keep them.
    private static func people(_ work: String, _ contender: String, _ folder: String) throws {
        let store = try objectContender(contender).init(folder: folder)
        if work == "fetch" {
            print("sum \(try store.fetchByEmail([17]))")
        } else {
            try store.fillCache()
            let before = try MemoryRun.residentByteCount("VmRSS:")
            let people = try store.fetchAndKeep()
            try withExtendedLifetime(people) {
                print("memory \(try MemoryRun.residentByteCount("VmRSS:") - before)")
            }
        }
        try store.close()
    }

    /// Checks a store of songs.
    private static func check(_ contender: String, _ folder: String) throws {
        let time = try nanoseconds {
            if contender == EspalierSongs.name {
                try EspalierSongs.check(folder)
            } else {
                try SQLiteSongs(folder: folder).check()
            }
        }
        print("check \(time)")
        print("check memory \(try MemoryRun.peakByteCount())")
        print("check file \(try byteCount(ofFolder: folder))")
    }

    /// Rebuilds the trees that are derived from the rows of a store of songs.
    private static func rebuild(_ contender: String, _ folder: String) throws {
        let time = try nanoseconds {
            if contender == EspalierSongs.name {
                try EspalierSongs.rebuild(folder)
            } else {
                try SQLiteSongs(folder: folder).rebuild()
            }
        }
        print("rebuild \(time)")
        print("rebuild memory \(try MemoryRun.peakByteCount())")
    }

    private static func objectContender(_ name: String) throws -> any ObjectContender.Type {
        let types: [any ObjectContender.Type] = [EspalierObjects.self, SQLiteObjects.self]
        guard let type = types.first(where: { $0.name == name }) else {
            throw UsageError("--child fetch|keep|grow CONTENDER ... is only for bench itself")
        }
        return type
    }

    /// The object lines on a store of `count` people.
    private static func grow(_ contender: String, _ count: Int, _ folder: String) throws {
        let (type, people) = (try objectContender(contender), People(count: count))
        var generator = SplitMix64(state: 9)
        let some = (0..<20_000).map { _ in Int.random(in: 0..<count, using: &generator) }
        func figure(_ name: String, _ operations: Int, _ body: () throws -> Void) throws {
            print("\(name) \(try nanoseconds(body) / Double(operations))")
        }
        func load() throws {
            let store = try type.init(folder: folder)
            try figure("objects insert", count) { try store.insert(people) }
            try store.close()
        }
        try load()
        let store = try type.init(folder: folder)
        try figure("objects fetch whole", count) { blackHole(try store.fetchWhole(keeping: false)) }
        try figure("objects walk to-one", count) { blackHole(try store.walkToTeam(keeping: false)) }
        try figure("objects by index", some.count) { blackHole(try store.fetchByEmail(some)) }
        try figure("objects update", count) { try store.update() }
        try store.close()
    }

    /// One object line on a new store.
    private static func line(_ name: String, _ people: People, _ parent: String) throws {
        let folder = parent + "/line"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if name != "insert" {
            let store = try EspalierObjects(folder: folder)
            try store.insert(people)
            try store.close()
        }
        let store = try EspalierObjects(folder: folder)
        var generator = SplitMix64(state: 9)
        let some = (0..<min(people.count, 20_000)).map { _ in Int.random(in: 0..<people.count, using: &generator) }
        if name == "fault-in" { try store.learnIdentities(people) }
        let time = try nanoseconds { try lineBody(name, store, people, some) }
        try store.close()
        let isQuery = PeopleQuery.all(people.count).contains { $0.name == name }
        let operations = isQuery ? 10 : ["fault-in", "by-index"].contains(name) ? some.count : people.count
        print("objects \(name) \(time / Double(operations))")
    }

    /// The work of the line: a function of its own, so that a profiler can tell it from what prepares it.
    @inline(never)
    private static func lineBody(_ name: String, _ store: EspalierObjects, _ people: People, _ some: [Int]) throws {
        switch name {
        case "insert": try store.insert(people)
        case "faults": blackHole(try store.fetchFaults(keeping: false))
        case "whole": blackHole(try store.fetchWhole(keeping: false))
        case "walk": blackHole(try store.walkToTeam(keeping: false))
        case "keep-faults": blackHole(try store.fetchFaults(keeping: true))
        case "keep-whole": blackHole(try store.fetchWhole(keeping: true))
        case "keep-walk": blackHole(try store.walkToTeam(keeping: true))
        case "fault-in": blackHole(try store.faultIn(some))
        case "by-index": blackHole(try store.fetchByEmail(some))
        case "update": try store.update()
        case "update-observable": try store.updateObservable()
        case "update-grandchild": try store.updateTwoLevelsUp()
        case "delete": try store.delete()
        default:
            guard let query = PeopleQuery.all(people.count).first(where: { $0.name == name }) else {
                throw UsageError("--child line does not know \"\(name)\"")
            }
            blackHole(try store.ages(query, times: 10))
        }
    }

    /// The number of processes that `timeOfStarts` runs.
    static let startCount = 5

    /// Runs this program `startCount` times with `--child` and returns the time from the first start to the last end.
    ///
    /// It calls the system directly, because `Process` waits up to 50 ms longer than the child lives.
    static func timeOfStarts(_ arguments: [String]) throws -> Double {
        let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let words = ([path, "--child"] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        return try wallNanoseconds {
            for _ in 0..<startCount {
                var (child, status): (pid_t, Int32) = (0, 0)
                guard posix_spawn(&child, path, &actions, nil, words + [nil], environ) == 0,
                    waitpid(child, &status, 0) == child, status == 0
                else { throw ChildFailure(arguments: arguments) }
            }
        }
    }

    /// Runs this program with `--child` and returns the figures that the child printed.
    static func start(_ arguments: [String]) throws -> [String: Double] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--child"] + arguments + (countsProcessorTime ? ["--cpu-time"] : [])
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ChildFailure(arguments: arguments) }
        let pairs = text.split(separator: "\n").compactMap { line -> (String, Double)? in
            guard let space = line.lastIndex(of: " "), let figure = Double(line[line.index(after: space)...]) else {
                return nil
            }
            return (String(line[..<space]), figure)
        }
        return Dictionary(pairs) { $1 }
    }

    private static func scale(_ type: any KeyValueContender.Type, _ count: Int, _ folder: String) throws {
        let value = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let operations = 100_000
        var generator = SplitMix64(state: 31)
        let keys = (0..<operations).map { _ in UInt64.random(in: 1...UInt64(count), using: &generator) }
        let cache = 64 << 20
        var store = try type.init(folder: folder, shape: .integer, sync: .never, cacheByteCount: cache)
        func figure(_ name: String, _ operations: Int, _ body: () throws -> Void) throws {
            print("\(name) \(try nanoseconds(body) / Double(operations))")
        }
        try figure("fillseq", count) {
            for first in stride(from: 1, through: count, by: 100_000) {
                let block = Array(UInt64(first)...UInt64(min(first + 99_999, count)))
                try store.put(block, value: value, batch: 1000)
            }
        }
        try store.close()
        print("memory after fillseq \(try MemoryRun.peakByteCount())")
        print("file \(Double(try byteCount(ofFolder: folder)) / Double(count))")
        store = try type.init(folder: folder, shape: .integer, sync: .never, cacheByteCount: cache)
        blackHole(try store.get(keys, transactionPerRead: false))
        try figure("readrandom", operations) { blackHole(try store.get(keys, transactionPerRead: false)) }
        try figure("seekrandom", operations) { blackHole(try store.seek(keys, length: 10)) }
        try figure("readseq", count) { blackHole(try store.scan(backward: false).sum) }
        try figure("overwrite", operations) { try store.put(keys, value: value, batch: 1000) }
        try store.close()
        print("memory at the end \(try MemoryRun.peakByteCount())")
    }
}

/// A process that this program started failed, or did not print the figure asked for.
struct ChildFailure: Error {
    let arguments: [String]
}

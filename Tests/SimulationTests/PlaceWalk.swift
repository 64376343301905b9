// A random walk over names and places: it opens stores by paths of every kind, calls `chdir` between operations, and
// renames, moves, links and removes files and folders. A walk runs in its own process, which is killed within one of
// the engine's calls of the system, or at the end.

import EspalierEngine
import Foundation
import TestSupport
import Testing

/// One process of a walk.
struct PlaceWalk {
    /// An open store, and the place at which the engine opened it.
    private struct Handle {
        let database: Database
        let entry: PlaceLedger.Place
        var hasLog = false
    }

    private var ledger: PlaceLedger
    private var chance: SeededGenerator
    private var handles: [Int: Handle] = [:]
    /// The number of the process's working folder; `nil`: the root.
    private var workingFolder: Int?
    private let label: String
    private let system: DeadlyFileSystem

    /// Continues where the process before was killed, which left `root` and a ledger beside it.
    ///
    /// - Parameter calls: the number of the engine's calls of the system before the one that kills this process;
    ///   `nil`: no call does.
    init(root: String, seed: UInt64, killedAfter calls: Int? = nil) throws {
        ledger = try PlaceLedger(of: root)
        chance = SeededGenerator(seed: seed)
        label = "seed \(seed)"
        system = DeadlyFileSystem(
            after: calls, DeadlyFileSystem.Moment.allCases.randomElement(using: &chance) ?? .before)
        try enter(nil)
    }

    // MARK: The walk

    /// Takes `count` steps; if the process is still alive, it then kills itself with SIGKILL.
    mutating func runUntilKilled(steps count: Int) throws {
        try settle()
        for _ in 0..<count { try step() }
        try verifyAll()
        ledger.pending = nil
        try ledger.save()
        kill(getpid(), SIGKILL)
    }

    /// Writes the possible effects of the engine's next call to the ledger, before the process may be killed in it.
    private mutating func announce(
        _ store: Int, number: UInt64? = nil, putsLogAway: Bool = false, copy: PlaceLedger.Place? = nil
    ) throws {
        ledger.pending = PlaceLedger.Pending(store: store, number: number, putsLogAway: putsLogAway, copy: copy)
        try ledger.save()
    }

    private func open(_ path: String) throws(StorageError) -> Database {
        try Database.open(path, in: system, options: DatabaseOptions())
    }

    /// Settles the files that a crash left: moves logs to the present places of their stores, as the error text
    /// advises, and requires that every store is whole and has its commits.
    mutating func settle() throws {
        let pending = ledger.pending
        if let pending {
            ledger.stores[pending.store].unsure = pending.number ?? ledger.stores[pending.store].unsure
            if let copy = pending.copy { try settle(copy: ledger.path(copy), of: pending.store) }
        }
        try settleLogs(pending)
        ledger.pending = nil
        for number in ledger.liveStores {
            let path = ledger.path(ledger.stores[number].place)
            try announce(number)
            let database = try system.deadly { try open(path) }
            let (found, store) = (try database.numbers(), ledger.stores[number])
            let isLast = store.unsure != nil && found == store.numbers + [store.unsure ?? 0]
            try #require(found == store.numbers || isLast, "\(label), store \(number)")
            try #require(try database.check().isOK, "\(label), store \(number)")
            (ledger.stores[number].numbers, ledger.stores[number].unsure) = (found, nil)
            try announce(number)
            try system.deadly { try database.close() }
            ledger.stores[number].log = nil
        }
    }

    /// Requires that an interrupted backup left a whole copy or none, and removes it.
    private func settle(copy path: String, of number: Int) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let copy = try open(path)
        try #require(try copy.numbers() == ledger.stores[number].numbers, "\(label), copy of store \(number)")
        try #require(try copy.check().isOK, "\(label), copy of store \(number)")
        try copy.close()
        try FileManager.default.removeItem(atPath: path)
    }

    /// Moves each log to the folder and name of its store.
    private mutating func settleLogs(_ pending: PlaceLedger.Pending?) throws {
        var displaced: [Int] = []
        for number in ledger.liveStores {
            let store = ledger.stores[number]
            guard store.log != nil, store.log != ledger.logPlace(store.place) else { continue }
            let opened = Result { () throws(StorageError) in try open(ledger.path(store.place)).close() }
            if pending?.store == number, pending?.putsLogAway == true, opened.failure == nil {
                // The process was killed when all commits were in the store file.
                ledger.stores[number].log = nil
                continue
            }
            // There must be no log beside the store, or the log of another store that was renamed.
            try #require(
                [.opening(.logMissing), .corrupt(.logForeign, page: 0, file: .log)].contains(opened.failure), "\(label)"
            )
            displaced.append(number)
        }
        // Move all logs away first: one may have the name that another is to get.
        for number in displaced {
            guard let log = ledger.stores[number].log else { continue }
            try FileManager.default.moveItem(atPath: ledger.path(log), toPath: ledger.root + "/log-\(number)")
        }
        for number in displaced {
            let place = ledger.logPlace(ledger.stores[number].place)
            try FileManager.default.moveItem(atPath: ledger.root + "/log-\(number)", toPath: ledger.path(place))
            ledger.stores[number].log = place
        }
    }

    private mutating func step() throws {
        if Int.random(in: 0..<2, using: &chance) == 0 { try enter(pick(ledger.liveFolders + [-1])) }
        guard let number = pick(ledger.liveStores) else { return }
        switch Int.random(in: 0..<32, using: &chance) {
        case 0..<5: try open(number)
        case 5..<15: try append(to: number)
        case 15: try shrink(number)
        case 16..<18: try checkpoint(number)
        case 18..<20: try close(number)
        case 20: try compact(number)
        case 21: try backUp(number)
        case 22..<25: try move(number, withLog: Bool.random(using: &chance))
        case 25..<27: try renameFolder()
        case 27..<29: try makeStore()
        case 29: if Int.random(in: 0..<4, using: &chance) == 0 { try removeFolder() }
        default: try verifyAll()
        }
    }

    private mutating func pick<T>(_ choices: [T]) -> T? { choices.randomElement(using: &chance) }

    private mutating func enter(_ folder: Int?) throws {
        workingFolder = folder == -1 ? nil : folder
        let path = workingFolder.map { ledger.folders[$0].path } ?? ledger.root
        try #require(FileManager.default.changeCurrentDirectoryPath(path), "\(label)")
    }

    /// A path to a place, in one of many spellings.
    private mutating func spelling(of place: PlaceLedger.Place) throws -> String {
        let path = ledger.path(place)
        let files = FileManager.default
        switch Int.random(in: 0..<5, using: &chance) {
        case 0: return path
        case 1:
            let link = ledger.root + "/" + ledger.newName("link")
            // The target of a relative link is relative to the folder of the link.
            let target = Bool.random(using: &chance) ? path : "." + path.dropFirst(ledger.root.utf8.count)
            try files.createSymbolicLink(atPath: link, withDestinationPath: target)
            return relative(link) ?? link
        case 2:
            let link = ledger.root + "/" + ledger.newName("folder")
            try files.createSymbolicLink(atPath: link, withDestinationPath: ledger.folders[place.folder].path)
            return link + "/" + place.name
        default: return relative(path) ?? path
        }
    }

    /// A path below the root, relative to the working folder; `nil` if that folder was removed.
    private func relative(_ path: String) -> String? {
        let rest = path.dropFirst(ledger.root.utf8.count + 1)
        guard let workingFolder else { return String(rest) }
        let folder = ledger.folders[workingFolder]
        guard !folder.isRemoved else { return nil }
        let depth = folder.path.dropFirst(ledger.root.utf8.count).split(separator: "/").count
        return String(repeating: "../", count: depth) + rest
    }

    // MARK: Uses of a store

    private mutating func open(_ number: Int) throws {
        let store = ledger.stores[number]
        let path = try spelling(of: store.place)
        try announce(number)
        let database = try system.deadly { try open(path) }
        try #require(try database.numbers() == store.numbers, "\(label), store \(number)")
        // A second handle shares the engine of the first, also if it was opened by another name.
        if handles[number] != nil { return try database.close() }
        handles[number] = Handle(database: database, entry: store.place)
    }

    /// The error with which a write must fail at this moment; `nil` if it must succeed.
    private func refusal(of number: Int, _ handle: Handle) -> StorageError? {
        let log = ledger.logPlace(handle.entry)
        if handle.hasLog { return nil }
        if ledger.stores[number].place != handle.entry { return .database(.storeReplaced) }
        let isInUse = handles.contains { $0.key != number && $0.value.hasLog && ledger.stores[$0.key].log == log }
        return isInUse ? .path(.logInUse) : nil
    }

    /// Runs a write transaction, which must succeed, or fail with the error that the places demand.
    private mutating func write(
        _ value: UInt64?, to number: Int, _ body: (Database) throws(StorageError) -> Void
    ) throws {
        guard let handle = handles[number] else { return try open(number) }
        let expected = refusal(of: number, handle)
        try announce(number, number: value)
        let result = system.deadly {
            Result { () throws(StorageError) in try body(handle.database) }
        }
        if result.failure == nil, let value { ledger.stores[number].numbers.append(value) }
        let failure = result.failure
        try #require(failure == expected, "\(label), store \(number)")
        guard failure == nil, !handle.hasLog else { return }
        handles[number]?.hasLog = true
        ledger.stores[number].log = ledger.logPlace(handle.entry)
    }

    private mutating func append(to number: Int) throws {
        ledger.nextNumber += 1
        let value = ledger.nextNumber
        try write(value, to: number) { database throws(StorageError) in try database.append(value) }
    }

    private mutating func shrink(_ number: Int) throws {
        try write(nil, to: number) { database throws(StorageError) in
            var write = try database.beginWrite()
            _ = try write.shrink(movingAtMost: 8)
            try write.commit()
        }
    }

    private mutating func checkpoint(_ number: Int) throws {
        guard let handle = handles[number] else { return }
        let modes: [CheckpointMode] = [.passive, .full, .truncate]
        let mode = modes.randomElement(using: &chance) ?? .full
        try announce(number, putsLogAway: mode == .truncate)
        try system.deadly { try handle.database.checkpoint(mode) }
        if mode == .truncate { forgetLog(of: number) }
    }

    private mutating func forgetLog(of number: Int) {
        handles[number]?.hasLog = false
        ledger.stores[number].log = nil
    }

    private mutating func close(_ number: Int) throws {
        guard let handle = handles[number] else { return }
        try announce(number, putsLogAway: true)
        try system.deadly { try handle.database.close() }
        forgetLog(of: number)
        handles[number] = nil
    }

    private mutating func compact(_ number: Int) throws {
        let path = try spelling(of: ledger.stores[number].place)
        guard handles[number] == nil else {
            try #require(throws: StorageError.opening(.storeBusy(pid: getpid())), "\(label)") {
                try Database.compact(at: path, in: system, options: DatabaseOptions())
            }
            return
        }
        try announce(number)
        try system.deadly { try Database.compact(at: path, in: system, options: DatabaseOptions()) }
    }

    private mutating func backUp(_ number: Int) throws {
        guard let handle = handles[number], let folder = pick(ledger.liveFolders) else { return }
        let place = PlaceLedger.Place(folder: folder, name: ledger.newName("copy"))
        let path = try spelling(of: place)
        try announce(number, copy: place)
        try system.deadly { try handle.database.backUp(to: path) }
        let copy = try open(ledger.path(place))
        try #require(try copy.numbers() == ledger.stores[number].numbers, "\(label), store \(number)")
        try copy.close()
        try FileManager.default.removeItem(atPath: ledger.path(place))
    }

    /// Requires the expected content of all stores: reads open ones through their handles, others through a new reader.
    private mutating func verifyAll() throws {
        var options = DatabaseOptions()
        options.access = .readOnly
        for number in ledger.liveStores {
            let (store, path) = (ledger.stores[number], ledger.path(ledger.stores[number].place))
            try announce(number)
            let found = try system.deadly {
                if let handle = handles[number] { return try handle.database.numbers() }
                let reader = try Database.open(path, in: system, options: options)
                defer { try? reader.close() }
                return try reader.numbers()
            }
            try #require(found == store.numbers, "\(label), store \(number)")
        }
    }

    // MARK: Changes of places

    private mutating func move(_ number: Int, withLog: Bool) throws {
        guard let folder = pick(ledger.liveFolders) else { return }
        let store = ledger.stores[number]
        let isHome = handles[number].map { $0.entry != store.place && !ledger.isTaken($0.entry) } ?? false
        // Sometimes move it back to the place where it was opened.
        let target =
            isHome && Bool.random(using: &chance)
            ? handles[number]?.entry : PlaceLedger.Place(folder: folder, name: ledger.newName("m"))
        guard let target, !ledger.folders[target.folder].isRemoved else { return }
        try FileManager.default.moveItem(atPath: ledger.path(store.place), toPath: ledger.path(target))
        ledger.stores[number].place = target
        guard withLog, let log = store.log, log != ledger.logPlace(target) else { return }
        let path = ledger.path(ledger.logPlace(target))
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.moveItem(atPath: ledger.path(log), toPath: path)
        ledger.stores[number].log = ledger.logPlace(target)
    }

    private mutating func renameFolder() throws {
        guard let folder = pick(ledger.liveFolders) else { return }
        let old = ledger.folders[folder].path
        let new = ledger.root + "/" + ledger.newName("f")
        try FileManager.default.moveItem(atPath: old, toPath: new)
        ledger.folders[folder].path = new
        guard Bool.random(using: &chance) else { return }
        // Create another folder with the old name, and a store whose name the first folder may have, too.
        try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
        ledger.folders.append(PlaceLedger.Folder(path: old))
        try addStore(at: PlaceLedger.Place(folder: ledger.folders.count - 1, name: "x"))
    }

    /// Creates a store at the old place of one that was renamed, or at a new place.
    private mutating func makeStore() throws {
        guard ledger.liveStores.count < 12, let folder = pick(ledger.liveFolders) else { return }
        let left = handles.values.map(\.entry).filter {
            !ledger.isTaken($0) && !ledger.folders[$0.folder].isRemoved
        }
        let place = left.min { ledger.path($0) < ledger.path($1) }
        try addStore(at: place ?? PlaceLedger.Place(folder: folder, name: ledger.newName("s")))
    }

    private mutating func addStore(at place: PlaceLedger.Place) throws {
        ledger.stores.append(PlaceLedger.Store(place: place))
        let (number, path) = (ledger.stores.count - 1, try spelling(of: place))
        try announce(number)
        handles[number] = Handle(database: try system.deadly { try open(path) }, entry: place)
    }

    /// Removes a folder with its content, and requires that the stores whose files are gone report it.
    ///
    /// The process is not killed meanwhile: with it the commits in a removed log would be lost.
    private mutating func removeFolder() throws {
        guard ledger.liveFolders.count > 1, let folder = pick(ledger.liveFolders) else { return }
        try FileManager.default.removeItem(atPath: ledger.folders[folder].path)
        ledger.folders[folder].isRemoved = true
        for (number, handle) in handles.sorted(by: { $0.key < $1.key }) {
            let store = ledger.stores[number]
            let isGone = store.place.folder == folder
            guard isGone || store.log?.folder == folder else { continue }
            let expected: StorageError =
                handle.hasLog ? .database(.removed(isGone ? .store : .log)) : .database(.storeReplaced)
            try #require(throws: expected, "\(label), store \(number)") { try handle.database.append(1) }
            try #require(try handle.database.numbers() == store.numbers, "\(label), store \(number)")
            if isGone {
                if handle.hasLog {
                    try #require(throws: expected, "\(label), store \(number)") { try handle.database.close() }
                } else {
                    try handle.database.close()
                }
                handles[number] = nil
            } else {
                // Closing writes all commits to the store file.
                try handle.database.close()
                forgetLog(of: number)
                handles[number] = nil
            }
        }
        for number in ledger.stores.indices where ledger.stores[number].place.folder == folder {
            ledger.stores[number].isRemoved = true
            ledger.stores[number].log = nil
        }
    }
}

extension Result {
    /// The error of a failure; `nil` for a success.
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

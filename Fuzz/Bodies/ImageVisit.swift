// All operations of an application on a store with untrusted bytes.
//
// Promises
//   1. Any bytes lead to answers or typed errors, without a trap, an endless loop, or memory out of proportion to the
//      file.
//   2. A read-only database changes no file.
//   3. A store that the integrity check finds whole can be read to the end in both directions, has the counts that the
//      catalog states, and is whole after further changes.
//   4. A check in slices has the findings of a check at once.
//   5. The store that salvage writes is whole and has the rows that the report states; a failure leaves no file behind.

import EspalierEngine
import TestSupport

/// One opening of a store image.
struct ImageVisit {
    /// The most entries that are read from a damaged store: its pages may be shared, so a walk may be long.
    private static let entryCountMax = 2000

    let system: SimulatedFileSystem
    let access: DatabaseOptions.Access

    /// Opens the image with each access, and salvages it.
    static func visit(store: [UInt8], log: [UInt8]?) {
        for access in [DatabaseOptions.Access.immutable, .readOnly, .readWrite] {
            let system = SimulatedFileSystem(seed: 3)
            system.replaceContents(of: ImageFixture.path, with: store)
            if let log { system.replaceContents(of: ImageFixture.logPath, with: log) }
            system.limitSpace(to: 8 << 20)
            let visit = ImageVisit(system: system, access: access)
            // Errors are valid answers.
            do throws(StorageError) { try visit.run() } catch { _ = error.description }
            guard access != .readWrite else { continue }
            precondition(system.contents(of: ImageFixture.path) == store, "a read-only open changed the store")
            precondition(system.contents(of: ImageFixture.logPath) == log, "a read-only open changed the log")
        }
        for takesAll in [false, true] { salvage(store: store, log: log, takesAll: takesAll) }
    }

    private static func salvage(store: [UInt8], log: [UInt8]?, takesAll: Bool) {
        let system = SimulatedFileSystem(seed: 4)
        system.replaceContents(of: ImageFixture.path, with: store)
        if let log { system.replaceContents(of: ImageFixture.logPath, with: log) }
        system.limitSpace(to: 8 << 20)
        let pathsBefore = system.paths
        var options = SalvageOptions()
        options.nameCandidates = ["words"]
        (options.acceptsDamaged, options.includesDeleted, options.includesUncommitted) = (takesAll, takesAll, takesAll)
        do throws(StorageError) {
            let report = try Database.salvage(
                from: ImageFixture.path, into: "new", in: system, options: options,
                storeOptions: .small)
            system.limitSpace(to: nil)
            let new = try Database.open("new", in: system, options: .small)
            let isWhole = try new.check().isOK
            precondition(isWhole, "the store that salvage made is damaged")
            let count = try new.beginRead().trees().reduce(0) { $0 + $1.entryCount }
            precondition(count == report.rowCount, "salvage reports \(report.rowCount) rows and wrote \(count)")
            try new.close()
        } catch {
            _ = error.description
            precondition(system.paths == pathsBefore, "salvage failed and left files behind: \(error)")
        }
        precondition(system.contents(of: ImageFixture.path) == store, "salvage changed the store")
        precondition(system.contents(of: ImageFixture.logPath) == log, "salvage changed the log")
    }

    private func run() throws(StorageError) {
        var options = DatabaseOptions.small
        options.createIfMissing = false
        options.access = access
        let database = try Database.open(ImageFixture.path, in: system, options: options)
        let report = try database.check()
        let isWhole = report.isOK
        let session = try database.beginCheck()
        while !session.isOver { _ = try session.resume(pages: 3) }
        precondition(session.report.findings == report.findings, "a check in slices and a whole check disagree")
        session.end()
        do throws(StorageError) {
            try readAll(database, isWhole: isWhole)
            if access == .readWrite { try change(database, isWhole: isWhole) }
            try database.close()
        } catch {
            precondition(!isWhole || error == .diskFull, "a store that is whole by its check throws: \(error)")
            throw error
        }
    }

    // MARK: Reading

    private func readAll(_ database: Database, isWhole: Bool) throws(StorageError) {
        let read = try database.beginRead()
        for summary in try read.trees() {
            var forward = 0
            var cursor = try read.cursor(over: summary.tree)
            var previous: [UInt8]?
            var isOnEntry = try cursor.first()
            while isOnEntry, isWhole || forward < Self.entryCountMax {
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                let value = try cursor.value()
                if isWhole {
                    precondition(previous.map { $0.lexicographicallyPrecedes(key) } ?? true, "keys are out of order")
                    let found = try read.get(key, from: summary.tree)
                    precondition(found == value, "a search and the cursor find different values")
                }
                previous = key
                forward += 1
                isOnEntry = try cursor.next()
            }
            var backward = 0
            isOnEntry = try cursor.last()
            while isOnEntry, isWhole || backward < Self.entryCountMax {
                _ = try cursor.value()
                backward += 1
                isOnEntry = try cursor.previous()
            }
            guard isWhole else { continue }
            precondition(forward == backward, "\(forward) entries forwards, \(backward) backwards")
            precondition(UInt64(forward) == summary.entryCount, "\(forward) entries, not \(summary.entryCount)")
        }
    }

    // MARK: Writing

    private func change(_ database: Database, isWhole: Bool) throws(StorageError) {
        for number in 0..<3 {
            var write = try database.beginWrite()
            for summary in try write.trees().prefix(3) { try change(summary.tree, number, &write) }
            if number == 1, try write.tree(named: "new") == nil {
                _ = try write.createTree(named: "new", keys: [UInt8].self)
            }
            if number == 2, let tree = try write.tree(named: "numbers") { try write.dropTree(tree) }
            try write.commit()
        }
        let isStillWhole = try database.check().isOK
        precondition(!isWhole || isStillWhole, "changes broke a store that was whole")
        try database.checkpoint(.truncate)
    }

    private func change(_ tree: AnyTree, _ round: Int, _ write: inout WriteTransaction) throws(StorageError) {
        let large = [UInt8](repeating: 3, count: 5000)
        switch tree {
        case .integers(let tree):
            for key in stride(from: UInt64(round), to: 200, by: 9) {
                try write.put([1, 2, 3], for: key, in: tree)
                try write.remove(key + 3, from: tree)
            }
            try write.put(large, for: 50, in: tree)
        case .bytes(let tree):
            for number in 0..<12 {
                try write.put([UInt8(round)], for: [UInt8]("prefix/\(number % 4)/\(number)".utf8), in: tree)
            }
            try write.put(large, for: [UInt8]("m".utf8), in: tree)
            try write.remove([UInt8]("long".utf8), from: tree)
        }
        var cursor = try write.cursor(over: tree)
        var count = 0
        var isOnEntry = try cursor.first()
        while isOnEntry, count < Self.entryCountMax / 4 {
            count += 1
            isOnEntry = try cursor.next()
        }
    }
}

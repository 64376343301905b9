// The work of a line on the stores of its contenders: filling, opening, the timed part, comparing and closing.
//
// Invariants
//   1. A store is filled and closed, and opened again, before the timed part: its rows are in its file.
//   2. Only `body` is timed.

import BenchKit
import Espalier
import Foundation

/// A contender's name, and the way to open its store.
struct StoreContender<Store> {
    let name: String
    /// Creates or opens the store in a folder.
    let open: (_ folder: String) throws -> Store
    let close: (Store) throws -> Void
}

/// The work of a line, which each contender does on a store of its own.
struct StoreWork<Store> {
    /// The rows with which the work begins.
    enum Rows {
        case nothing
        /// Inserted for each run.
        case insertedAnew((Store) throws -> Void)
        /// Inserted once for all lines of the same place, and copied for each run.
        case copied((Store) throws -> Void)
    }

    let folder: URL
    /// The beginning of the names of the contenders' folders in `folder`.
    let place: String
    let rows: Rows
    /// The timed part; returns a sum over its answers.
    let body: (Store) throws -> Int
    /// Compares the sum, and the state of the store, with those of other contenders.
    let check: (_ sum: Int, Store) throws -> Void

    /// The contenders of the line.
    func contenders(_ contenders: [StoreContender<Store>]) -> [Line.Contender] {
        contenders.map { contender in Line.Contender(contender.name) { try run(contender) } }
    }

    /// Does the work once; returns its time in nanoseconds.
    private func run(_ contender: StoreContender<Store>) throws -> Double {
        let files = FileManager.default
        let work = folder.appendingPathComponent("\(place)-work")
        try? files.removeItem(at: work)
        switch rows {
        case .nothing: try files.createDirectory(at: work, withIntermediateDirectories: true)
        case .insertedAnew(let insert): try fill(work, contender, insert)
        case .copied(let insert):
            let original = folder.appendingPathComponent("\(place)-\(contender.name)")
            if !files.fileExists(atPath: original.path) { try fill(original, contender, insert) }
            try files.copyItem(at: original, to: work)
        }
        let store = try contender.open(work.path)
        var sum = 0
        let time = try nanoseconds { sum = try body(store) }
        try check(sum, store)
        try contender.close(store)
        try files.removeItem(at: work)
        return time
    }

    /// In a function of its own, so that nothing of the filled store is left when the work begins.
    @inline(never)
    private func fill(
        _ place: URL, _ contender: StoreContender<Store>, _ insert: (Store) throws -> Void
    ) throws {
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let store = try contender.open(place.path)
        try insert(store)
        try contender.close(store)
    }
}

extension PersistentStoreCoordinator {
    /// A coordinator with the B-tree file at `path`, which has objects of these classes.
    convenience init(file path: String, of classes: [ManagedObject.Type]) throws {
        let model = try ManagedObjectModel(for: classes)
        self.init(managedObjectModel: model)
        add(try BTreeStore.open(path: path, model: model))
    }

    /// Closes all stores.
    func closeStores() throws { for store in persistentStores { try store.close() } }
}

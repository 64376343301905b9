// The store of the demo: creates, recognizes and counts it, and never touches a file that is not a demo store.
//
// Invariants
//   1. A file is removed only if it is a store that carries exactly the demo's model.

import Espalier
import EspalierEngine
import EspalierModel
import Foundation

/// An open demo store.
struct DemoStore {
    /// The action for the file at a path.
    struct Plan {
        /// Whether the library is to be imported.
        let imports: Bool
        /// The finding and the action, for people.
        let text: String
        /// The action, for programs.
        let word: String
    }

    private let container: PersistentContainer
    /// The path as given on the command line.
    let path: String

    /// The classes of the library.
    static var classes: [ManagedObject.Type] {
        [
            Genre.self, MediaType.self, Artist.self, Album.self, Track.self, Person.self, Employee.self, Customer.self,
            Invoice.self, InvoiceLine.self, Playlist.self,
        ]
    }

    /// Opens the demo store at `path`, or makes an empty one.
    static func open(_ path: String) throws(ToolError) -> DemoStore {
        do {
            return DemoStore(container: try PersistentContainer(for: classes, at: path), path: path)
        } catch {
            throw ToolError(error, path: path)
        }
    }

    /// Makes a new context on the store.
    func makeContext() -> ManagedObjectContext { ManagedObjectContext(container.persistentStoreCoordinator) }

    /// Closes the store.
    func close() throws(ToolError) { try withPath(path) { () throws(ContextError) in try container.close() } }

    /// Examines the file at `path` and decides what to do with it.
    ///
    /// - Throws: `ToolError.refused` if it is not a demo store.
    static func plan(_ path: String, _ tables: ChinookTables, isReplacing: Bool) throws(ToolError) -> Plan {
        guard FileManager.default.fileExists(atPath: path) else {
            return Plan(imports: true, text: "\(path) does not exist: importing the library into it.", word: "created")
        }
        let rowCount = try rowCount(of: path)
        let found = "\(path) exists and is a demo store with \(DisplayText.grouped(rowCount)) rows"
        if rowCount != tables.rowCount {
            return Plan(
                imports: true,
                text: "\(found), not \(DisplayText.grouped(tables.rowCount)): importing the library again.",
                word: "replaced")
        }
        if isReplacing { return Plan(imports: true, text: "\(found): replacing it.", word: "replaced") }
        return Plan(
            imports: false, text: "\(found): using it as it is (--replace imports it again).\n", word: "reused")
    }

    /// Removes the store at `path` and its log, if the store exists; `plan` has checked that it is a demo store.
    ///
    /// - Throws: `ToolError.context` with `storeBusy` if another process has it open.
    static func remove(_ path: String) throws(ToolError) {
        guard FileManager.default.fileExists(atPath: path) else { return }
        // No other process has the store open if it can be opened for writing.
        try open(path).close()
        try withPath(path) { () throws(StorageError) in
            let store = try PosixFileSystem.shared.entry(at: path)
            if try store.log.identity(role: .log) != nil { try store.log.remove(role: .log) }
            try store.remove(role: .store)
        }
    }

    /// The number of the library's rows in the store at `path`: objects, and links between playlists and tracks.
    ///
    /// Opens the store read-only with its own model, and refuses it unless that model is the demo's.
    private static func rowCount(of path: String) throws(ToolError) -> Int {
        let store: OpenStore
        do throws(ToolError) {
            store = try OpenStore(path)
        } catch {
            if error.exitCode == .locked { throw error }
            throw refusal(of: path, because: "\(error)")
        }
        guard let model = try? ManagedObjectModel(for: classes), store.model.descriptions == model.descriptions,
            let playlist = store.model.entity(named: Playlist.entityName),
            let tracks = playlist.relationship(named: "tracks")
        else { throw refusal(of: path, because: "its entities are \(store.model.entities.map(\.name))") }
        var count = 0
        for entity in store.model.entities where !entity.isAbstract { count += try store.rowCount(of: entity) }
        let links = try store.destinations(of: tracks, for: store.ids(of: playlist))
        try store.close()
        return count + links.reduce(0) { $0 + $1.count }
    }

    private static func refusal(of path: String, because reason: String) -> ToolError {
        .refused(
            path: path,
            reason: "exists and is not a demo store, so it was not changed; name another file: "
                + "dbtool demo other.espalier\n(\(reason))")
    }
}

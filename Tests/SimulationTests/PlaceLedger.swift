// The knowledge of a walk over names and places: folders, stores, the commits to each, and the place of its log.
//
// Invariants
//   1. The walk writes the ledger before each call of the engine, with the possible effects of the call. If the process
//      is killed within the call, the next one knows every acknowledged commit, and the unacknowledged one that the
//      store may have.
//   2. A name is used once, except that a new store may get the name from which another store was renamed.

import Foundation

/// The expected folders and stores.
struct PlaceLedger: Codable {
    /// A name in a folder; `folder` is the folder's number.
    struct Place: Codable, Hashable {
        var folder: Int
        var name: String
    }

    struct Folder: Codable {
        var path: String
        var isRemoved = false
    }

    struct Store: Codable {
        /// The present place of the file.
        var place: Place
        /// The log file, if recovery after a crash at this moment would need one.
        var log: Place?
        /// The acknowledged commits.
        var numbers: [UInt64] = []
        /// The commit within which a process was killed: the store may have it, and then as its last.
        var unsure: UInt64?
        var isRemoved = false
    }

    /// The possible effects of the present call of the engine, for the case that the process is killed within it.
    struct Pending: Codable {
        var store: Int
        /// Commits this number.
        var number: UInt64?
        /// Writes all commits to the store file and removes the log.
        var putsLogAway = false
        /// Writes a copy of the store here.
        var copy: Place?
    }

    var root: String
    var folders: [Folder] = []
    var stores: [Store] = []
    var pending: Pending?
    var nextName = 0
    var nextNumber: UInt64 = 1

    /// Two folders with a store `x` in each, and a store `y` in the first; none of them exists yet.
    init(root: String) {
        self.root = root
        folders = [Folder(path: root + "/a"), Folder(path: root + "/b")]
        stores = [("x", 0), ("x", 1), ("y", 0)].map { Store(place: Place(folder: $1, name: $0)) }
    }

    /// Reads the ledger of a process that was killed.
    init(of root: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: Self.file(root)))
    }

    func save() throws { try JSONEncoder().encode(self).write(to: Self.file(root)) }

    private static func file(_ root: String) -> URL { URL(fileURLWithPath: root + ".ledger") }

    func path(_ place: Place) -> String { folders[place.folder].path + "/" + place.name }

    /// The place of the log that belongs beside a store file.
    func logPlace(_ place: Place) -> Place { Place(folder: place.folder, name: place.name + "-wal") }

    mutating func newName(_ prefix: String) -> String {
        nextName += 1
        return prefix + String(nextName)
    }

    /// The numbers of the stores that still exist.
    var liveStores: [Int] { stores.indices.filter { !stores[$0].isRemoved } }
    /// The numbers of the folders that still exist.
    var liveFolders: [Int] { folders.indices.filter { !folders[$0].isRemoved } }

    /// Whether a store file has this place.
    func isTaken(_ place: Place) -> Bool { liveStores.contains { stores[$0].place == place } }
}

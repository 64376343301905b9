// What a walk over names and places knows: folders, stores, what was committed to each, and where its log must be.
//
// Invariants
//   1. The ledger is written before each call of the engine, with what the call may do, so the process that follows one
//      that was killed within the call knows every acknowledged commit, and the one that may be there without a word.
//   2. Names are never used twice, but for those of stores that were renamed away: there new stores may be made.

import Foundation

/// Folders and stores as they must be.
struct PlaceLedger: Codable {
    /// A name in a folder, by the folder's number.
    struct Place: Codable, Hashable {
        var folder: Int
        var name: String
    }

    struct Folder: Codable {
        var path: String
        var isRemoved = false
    }

    struct Store: Codable {
        /// The file, wherever it was moved.
        var place: Place
        /// The log file, if a crash now would leave one that counts.
        var log: Place?
        /// What was acknowledged.
        var numbers: [UInt64] = []
        /// What a process was killed over: it may be there, and if so last.
        var unsure: UInt64?
        var isRemoved = false
    }

    /// What the call of the engine that is being made may have done when the process is killed within it.
    struct Pending: Codable {
        var store: Int
        /// Commits this number.
        var number: UInt64?
        /// Moves everything into the store file and does without the log.
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

    /// Two folders with a store `x` in each, and a store `y` in the first; none of them is made yet.
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

    /// The place of the log beside a store file.
    func logPlace(_ place: Place) -> Place { Place(folder: place.folder, name: place.name + "-wal") }

    mutating func newName(_ prefix: String) -> String {
        nextName += 1
        return prefix + String(nextName)
    }

    /// Numbers of the stores that are there.
    var liveStores: [Int] { stores.indices.filter { !stores[$0].isRemoved } }
    /// Numbers of the folders that are there.
    var liveFolders: [Int] { folders.indices.filter { !folders[$0].isRemoved } }

    /// Whether a store file has this place.
    func isTaken(_ place: Place) -> Bool { liveStores.contains { stores[$0].place == place } }
}

// A coordinator on an empty store of each kind, so that every suite runs over every store.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case inMemory, btree

    var testDescription: String { rawValue }
}

/// The model, a store and contexts on it.
final class Stack {
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext
    private var readers: [ManagedObjectContext] = []
    private let folder: URL

    /// The path of the store's file, if it is in one.
    private var path: String { folder.appending(path: "music.espalier").path }

    /// - Parameter file: the content of the store's file, if there is one before the store is added.
    init(_ kind: StoreKind, classes: [ManagedObject.Type] = musicClasses, file: Data? = nil) throws {
        coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: classes))
        folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        switch kind {
        case .inMemory:
            try coordinator.addPersistentStore(.inMemory)
        case .btree:
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let path = folder.appending(path: "music.espalier").path
            try file?.write(to: URL(fileURLWithPath: path))
            try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
        }
        context = ManagedObjectContext(coordinator)
    }

    deinit {
        for store in coordinator.persistentStores { try? store.close() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Closes the stores; returns the content of the file of a B-tree store.
    func closedFile() throws -> Data {
        for store in coordinator.persistentStores { try store.close() }
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }

    /// The objects in the store, in a fresh context that lives as long as the stack.
    func stored<Object: ManagedObject>(_ type: Object.Type) throws -> [Object] {
        readers.append(newContext())
        return try readers[readers.count - 1].fetch(FetchRequest<Object>())
    }

    /// Saves artists with albums of tracks: artist i has i + 1 albums of `tracks` tracks.
    func makeMusic(artists: Int, tracks: Int) throws {
        let context = newContext()
        for number in 0..<artists {
            let artist = Artist(context: context)
            artist.name = "Artist \(number)"
            artist.founded = Int32(1950 + number)
            for albumNumber in 0...number {
                let album = Album(context: context)
                album.title = "Album \(number).\(albumNumber)"
                album.artist = artist
                for trackNumber in 0..<tracks {
                    let track = Track(context: context)
                    track.name = "Track \(number).\(albumNumber).\(trackNumber)"
                    track.seconds = Int16(100 + trackNumber)
                    track.album = album
                }
            }
        }
        try context.saveAndCompare()
    }
}

/// The `ContextError` that `body` throws, or `nil`.
func contextError(_ body: () throws -> Void) -> ContextError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ContextError
    }
}

/// The violations for which `body` is refused, besides other reasons.
func violations(_ body: () throws -> Void) -> [Violation] { contextError(body)?.violations ?? [] }

extension ContextError {
    /// The error that the save would have thrown if it told one kind of findings.
    var first: ContextError { if case .several(let errors) = self { errors[0] } else { self } }

    /// The violations among the findings.
    var violations: [Violation] {
        switch self {
        case .violations(let violations): violations
        case .several(let errors): errors.flatMap(\.violations)
        default: []
        }
    }

    /// The conflicts among the findings.
    var conflicts: [MergeConflict] {
        switch self {
        case .conflicts(let conflicts): conflicts
        case .several(let errors): errors.flatMap(\.conflicts)
        default: []
        }
    }
}

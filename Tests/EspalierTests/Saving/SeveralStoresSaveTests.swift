// Saves to several stores: what one store refuses must not be found when another one has written, and what is left to
// the next save is checked as in this one (MC-40).

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct SeveralStoresSaveTests {
    private let coordinator: PersistentStoreCoordinator
    private let context: ManagedObjectContext

    init() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model), entityNames: ["Artist", "Album", "Track"])
        coordinator.add(InMemoryStore(model: model), entityNames: ["Listener", "Playlist"])
        context = ManagedObjectContext(coordinator)
    }

    private func makeListener(_ name: String) -> Listener {
        let listener = Listener(context: context)
        listener.name = name
        return listener
    }

    private func makeTrack() -> Track {
        let track = Track(context: context)
        track.name = "So What"
        return track
    }

    /// Gives all listeners of some name another one, in another context.
    private func rename(_ name: String, to newName: String) throws {
        let other = ManagedObjectContext(coordinator)
        for listener in try other.fetch(FetchRequest<Listener>(FetchPredicate(format: "name == %@", name))) {
            listener.name = newName
        }
        try other.save()
    }

    private func storedNames() throws -> [String] {
        let fresh = ManagedObjectContext(coordinator)
        return try fresh.fetch(FetchRequest<Listener>(sortedBy: [SortKey("name")])).map(\.name)
            + fresh.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")])).map(\.name)
    }

    @Test func `changes that the last store cannot take are found before the first store writes`() throws {
        let (track, listener) = (makeTrack(), makeListener("Ann"))
        listener.favourite = track

        let error = contextError { try context.save() }

        guard case .relationshipAcrossStores(_, "favourite", _)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(try storedNames() == [] && context.insertedObjects == [track, listener])
        listener.favourite = nil
        try context.saveAndCompare()
        #expect(try storedNames() == ["Ann", "So What"])
    }

    @Test func `a changed object without a row in the last store is found before the first store writes`() throws {
        let listener = makeListener("Ann")
        try context.save()
        let other = ManagedObjectContext(coordinator)
        try other.delete(try other.fetch(FetchRequest<Listener>())[0])
        try other.save()
        context.refresh(listener, mergesChanges: false)
        let track = makeTrack()
        listener.name = "Bea"

        #expect(throws: ContextError.self) { try context.save() }

        #expect(try storedNames() == [] && context.insertedObjects == [track])
    }

    @Test(arguments: [false, true])
    func `a policy resolves what the last store refuses if the first one has only checked an object`(
        _ setsStoredValue: Bool
    ) throws {
        let (track, _, listener) = (makeTrack(), makeListener("Zoe"), makeListener("Ann"))
        try context.save()
        try rename("Ann", to: "Eve")
        context.mergePolicy = .objectTrump
        if setsStoredValue { track.name = "So What" } else { try context.detectConflicts(for: track) }
        listener.name = "Bea"

        try context.saveAndCompare()

        #expect(try storedNames() == ["Bea", "Zoe", "So What"])
    }

    @Test func `an object of the store that has refused is checked by the next save too`() throws {
        let (track, locked, listener) = (makeTrack(), makeListener("Zoe"), makeListener("Ann"))
        try context.save()
        try rename("Ann", to: "Eve")
        try context.detectConflicts(for: locked)
        try context.detectConflicts(for: track)
        (track.name, listener.name) = ("Blue in Green", "Bea")
        let first = contextError { try context.save() }
        guard case .partlySaved(.conflicts)? = first else {
            Issue.record("\(first.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(!track.hasChanges && listener.hasChanges)
        context.refresh(listener, mergesChanges: false)
        listener.name = "Bea"
        try rename("Zoe", to: "Zoë")

        let second = contextError { try context.save() }

        guard case .conflicts(let conflicts)? = second else {
            Issue.record("\(second.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(conflicts.map(\.object) == [locked.objectID])
        context.refresh(locked, mergesChanges: false)
        try context.detectConflicts(for: locked)
        try context.saveAndCompare()
        #expect(try storedNames() == ["Bea", "Zoë", "Blue in Green"])
    }

    @Test func `a transaction of which one store has saved its part is not taken back (SD-15)`() throws {
        let listener = makeListener("Ann")
        try context.save()
        try rename("Ann", to: "Theirs")

        let error = contextError {
            try context.transaction {
                _ = makeTrack()
                listener.name = "Mine"
            }
        }

        guard case .partlySaved(.conflicts)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(listener.name == "Mine" && context.updatedObjects == [listener] && context.insertedObjects.isEmpty)
        #expect(try storedNames() == ["Theirs", "So What"])
    }
}

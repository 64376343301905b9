// Calls by key path for a class without a table of key paths, such as one that belongs to an actor or is written by
// hand: also those of merge policies.

import Espalier
import EspalierModel
import Testing

@Suite struct KeyPathTableTests {
    @Test func `a class without a table of key paths is an error of calls by key path that says so`() throws {
        let stack = try Stack(.inMemory)
        let track = Track(context: stack.context)
        track.name = "first"
        try stack.context.save()
        var (name, value) = ("second", PropertyValue.attribute(.string("second")))
        let calls: [() throws -> Void] = [
            { _ = try track.committedValue(of: \.name) }, { _ = try track.committedValue(of: \.album) },
            { _ = try track.isChanged(\.name) }, { try track.validateValue(&name, for: \.name) },
            { try track.checkValue(&value, forKey: "name", of: \.name) { $0 = "third" } },
            { _ = try track.primitiveValue(of: \.name) }, { _ = try track.primitiveValue(of: \.album) },
            { try track.setPrimitiveValue("third", for: \.name) }, { try track.willChangeValue(for: \.name) },
            { try track.didChangeValue(for: \.name) }, { _ = try track.hasFault(for: \.album) },
            { _ = try track.hasFault(for: \.playlists) }, { _ = try track.destinationRef(of: \.album) },
            { _ = try track.destinationRefs(of: \.playlists) },
        ]
        for call in calls {
            let error = #expect(throws: ContextError.self) { try call() }
            guard case .classWithoutKeyPaths("Track")? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.code == 134060 && error?.description.contains("@Entity") == true)
        }

        #expect(name == "second" && value == .attribute(.string("second")) && track.name == "first")
        #expect(!stack.context.hasChanges)
        let committed = try track.committedValues(forKeys: ["name"])
        #expect(committed.count == 1)
    }

    @Test func `a policy that reads or answers by key path is told that the class has no table of key paths (MP-06)`()
        throws
    {
        let policies = [
            MergePolicy { conflict, _ in
                MergeResolution(try conflict[\Track.name] == nil ? .objectTrump : .storeTrump)
            },
            MergePolicy { conflict, _ in
                MergeResolution(try conflict[\Track.album] == nil ? .objectTrump : .storeTrump)
            },
            MergePolicy { conflict, _ in
                MergeResolution(try conflict[\Track.playlists] == nil ? .objectTrump : .storeTrump)
            },
            MergePolicy { _, _ in
                var resolution = MergeResolution(.objectTrump)
                resolution[\Track.name] = .mine
                return resolution
            },
            MergePolicy { _, _ in
                var resolution = MergeResolution(.objectTrump)
                resolution.set(\Track.name, to: "third")
                return resolution
            },
        ]
        for (number, policy) in policies.enumerated() {
            let stack = try Stack(.inMemory)
            let track = Track(context: stack.context)
            track.name = "first"
            try stack.context.save()
            let other = stack.newContext()
            try other[track.ref].name = "theirs"
            try other.save()
            (track.name, stack.context.mergePolicy) = ("mine", policy)

            expectTold(refusals(of: stack.context), "Track", "policy \(number)")

            #expect(track.name == "mine" && stack.context.hasChanges)
            stack.context.mergePolicy = .objectTrump
            try stack.context.saveAndCompare()
        }
    }

    @Test func `a policy for unique values is told that the class has no table of key paths, too (F-6)`() throws {
        let policies: [@Sendable (UniquenessConflict, ManagedObject) throws -> ConstraintResolution] = [
            { conflict, _ in try conflict.isAbout(\Playlist.name) ? .keep : .refuse },
            { conflict, _ in try conflict[\Playlist.name] == nil ? .keep : .refuse },
            { conflict, _ in try conflict[\Playlist.owner] == nil ? .keep : .refuse },
            { _, _ in .changing { $0.set(\Playlist.name, to: "other") } },
        ]
        for (number, policy) in policies.enumerated() {
            let stack = try Stack(.inMemory)
            let owner = Listener(context: stack.context)
            owner.name = "Ann"
            let stored = Playlist(context: stack.context)
            (stored.name, stored.owner) = ("Evening", owner)
            try stack.context.save()
            let new = Playlist(context: stack.context)
            (new.name, new.owner) = ("Evening", owner)
            stack.context.mergePolicy = MergePolicy({ _, _ in MergeResolution(.error) }, constraints: policy)

            expectTold(refusals(of: stack.context), "Playlist", "policy \(number)")

            #expect(stack.context.insertedObjects == [new] && new.name == "Evening")
        }
    }

    /// The answers for which a save of the context is refused.
    private func refusals(of context: ManagedObjectContext) -> [Violation] {
        let error = contextError { try context.save() }
        guard case .refusedResolutions(let refused)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return []
        }
        return refused
    }

    private func expectTold(_ refused: [Violation], _ name: String, _ about: String) {
        #expect(refused.count == 1, "\(about): \(refused)")
        #expect("\(refused)".contains("the class \(name) has no table of key paths"), "\(about): \(refused)")
    }
}

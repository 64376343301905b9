// Cases that others have recorded on Apple's systems, by their numbers: those that no other suite shows.
//
// The others: 2 in DerivedValuesTests (every kind of store derives); 3 in DerivedAttributeTests and DerivationTests; 4
// in KeyPathGroupTests; 5 and 6 in FolderStoreTests and ShelfStoreTests; 8 in MergeTests; 9 in ConflictTests; 10 and 11
// in PendingFetchTests; 12 in ValueFetchTests; 13 in TypedAccessTests; 14 in XMLGraphFormatTests and XMLSourceTests. Of
// those without a number, defaults are in TypedAccessTests, primitive values in ValueTests, refreshes and BETWEEN in
// BehaviourTests, rollbacks in SaveTests, the rule deny in DeleteTests, willSave in HookTests, and objects in
// predicates in RefTests.
// The article Differences lists the cases in which Espalier differs.

import Espalier
import EspalierModel
import Testing

@Suite struct RecordedCaseTests {
    private func artist(_ name: String, _ founded: Int32? = nil, in context: ManagedObjectContext) -> Artist {
        let artist = Artist(context: context)
        (artist.name, artist.founded) = (name, founded)
        return artist
    }

    // Case 1: there, asking a request by name for its entity raises an exception until a context has used the request.
    @Test func `a request by name names its entity before any context has used it`() throws {
        let byName = FetchRequest<ManagedObject>(entityName: "Artist")
        #expect(byName.entityName == "Artist" && Artist.fetchRequest().entityName == "Artist")

        let stack = try Stack(.inMemory)
        let miles = artist("Miles", in: stack.context)

        #expect(try stack.context.fetch(byName) == [miles])
    }

    // Case 7.
    @Test func `an object that is inserted and deleted within one event is in no message`() throws {
        let stack = try Stack(.inMemory)
        var messages = 0
        let token = stack.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in
            messages += 1
        }

        let miles = artist("Miles", in: stack.context)
        try stack.context.delete(miles)
        stack.context.processPendingChanges()

        #expect(messages == 0 && miles.managedObjectContext == nil && !stack.context.hasChanges)
        withExtendedLifetime(token) {}
    }

    // Case 15: the numbers that were recorded, and those that Espalier has in place of three of them.
    @Test(arguments: StoreKind.allCases)
    func `calls that fail have the numbers that were recorded, or those that stand for them`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let unnamed = Artist(context: stack.context)
        #expect(contextError { try stack.context.save() }?.code == 1570)
        unnamed.name = "Miles"
        try stack.context.save()

        let other = stack.newContext()
        let theirs = try other.existingObject(with: unnamed.ref)
        theirs.name = "Davis"
        try other.save()
        unnamed.name = "Dewey"
        // 134050 there, for the conflicts of a save.
        #expect(contextError { try stack.context.save() }?.code == 133020)
        stack.context.rollback()

        try other.delete(theirs)
        try other.save()
        let reader = stack.newContext()
        #expect(contextError { _ = try reader.existingObject(with: unnamed.objectID) }?.code == 133000)

        let listener = Listener(context: stack.context)
        listener.name = "Ann"
        for _ in 0..<2 {
            let list = Playlist(context: stack.context)
            (list.name, list.owner) = ("Evening", listener)
        }
        // 1551 there, if the validation of a save finds it.
        #expect(contextError { try stack.context.save() }?.code == 133021)
        // 134010 there, for a file of another kind.
        #expect(ContextError.store(.otherFormat(path: nil, format: 1)).code == 134100)
    }

    // Unverified there: whether no value comes first in both directions.
    @Test(arguments: StoreKind.allCases)
    func `no value comes before all others, and in descending order after them (FR-27)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        for founded: Int32? in [1960, nil, 1950] { _ = artist("A", founded, in: stack.context) }

        let orders: [(isAscending: Bool, expected: [Int32?])] = [
            (true, [nil, 1950, 1960]), (false, [1960, 1950, nil]),
        ]
        for _ in ["unsaved", "saved"] {
            for (isAscending, expected) in orders {
                let request = FetchRequest<Artist>(sortedBy: [SortKey("founded", ascending: isAscending)])
                #expect(try stack.context.fetch(request).map(\.founded) == expected)
            }
            try stack.context.save()
        }
    }
}

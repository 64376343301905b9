// Contexts that save by themselves at the end of an event (SD-16).

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct AutosaveTests {
    @Test(arguments: StoreKind.allCases)
    func `a context with autosave saves at the end of each event, and not before`(kind: StoreKind) throws {
        let stack = try Stack(kind)
        stack.context.autosaveEnabled = true
        let artist = Artist(context: stack.context)
        artist.name = "Miles"
        _ = try stack.context.fetch(FetchRequest<Album>())
        #expect(stack.context.hasChanges)
        stack.context.processPendingChanges()

        #expect(!stack.context.hasChanges && !artist.objectID.isTemporary)
        #expect(try stack.stored(Artist.self).map(\.name) == ["Miles"])
        stack.context.autosaveEnabled = false
        artist.name = "Davis"
        stack.context.processPendingChanges()
        #expect(stack.context.hasChanges)
    }

    @Test func `a save that fails leaves the changes, tells why, and is tried again after the next event`() throws {
        let stack = try Stack(.btree)
        var errors: [ContextError] = []
        let token = stack.context.addObserver(for: ManagedObjectContext.DidFailToAutosaveMessage.self) { message in
            errors.append(message.error)
        }
        stack.context.autosaveEnabled = true
        let first = Artist(context: stack.context)
        first.name = "Miles"
        stack.context.processPendingChanges()
        let second = Artist(context: stack.context)
        stack.context.processPendingChanges()

        #expect(errors.map(\.code) == [1570] && stack.context.insertedObjects == [second])
        second.name = "Nina"
        stack.context.processPendingChanges()
        #expect(errors.count == 1 && !stack.context.hasChanges)
        #expect(try stack.stored(Artist.self).count == 2)
        token.cancel()
    }

    @MainActor @Test func `the view context saves when the main actor is free`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        container.viewContext.autosaveEnabled = true
        let artist = Artist(context: container.viewContext)
        artist.name = "Miles"
        #expect(container.viewContext.hasChanges)
        await wait { !container.viewContext.hasChanges }

        #expect(!container.viewContext.hasChanges)
        let names = try await container.performBackgroundTask { try $0.fetch(FetchRequest<Artist>()).map(\.name) }
        #expect(names == ["Miles"])
    }

    @Test func `a background context saves after each block, and a child saves to its parent`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let background = container.newBackgroundContext()
        await background.perform { context in
            context.autosaveEnabled = true
            Artist(context: context).name = "Miles"
        }
        let isSaved = await background.perform { context in
            let isSaved = !context.hasChanges
            let child = ManagedObjectContext(parent: context)
            child.autosaveEnabled = true
            Artist(context: child).name = "Nina"
            child.processPendingChanges()
            return isSaved && !child.hasChanges && context.insertedObjects.count == 1
        }
        #expect(isSaved)
        #expect(try await background.perform { try $0.count(for: FetchRequest<Artist>()) } == 2)
        #expect(await background.perform { !$0.hasChanges })
    }

    @Test func `hooks and observers that process changes during a save start no other save`() throws {
        let stack = try Stack(.inMemory)
        var saves = 0
        let will = stack.context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { message in
            saves += 1
            message.context.processPendingChanges()
        }
        let did = stack.context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { message in
            message.context.processPendingChanges()
        }
        stack.context.autosaveEnabled = true
        Artist(context: stack.context).name = "Miles"
        stack.context.processPendingChanges()

        #expect(saves == 1 && !stack.context.hasChanges)
        will.cancel()
        did.cancel()
    }
}

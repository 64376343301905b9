// Delete rules whose hooks call the context again.

import Espalier
import EspalierModel
import Testing

@Suite struct DeleteHookTests {
    @Test func `rules run for what a hook deletes after it has run the rules of all`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: [Twig.self]))
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let (stem, twig) = (Twig(context: context), Twig(context: context))
        let (other, leaf) = (Twig(context: context), Twig(context: context))
        (twig.stem, leaf.stem) = (stem, other)
        try context.save()
        twig.onDeletion = { [unowned context, unowned other] in
            context.processPendingChanges()
            #expect(contextError { try context.delete(other) } == nil)
        }

        try context.delete(stem)
        context.processPendingChanges()

        #expect(context.deletedObjects == [stem, twig, other, leaf])
        try context.save()
        #expect(try context.count(for: FetchRequest<Twig>()) == 0)
    }
}

private final class Twig: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Twig",
            properties: [
                EntityDescription._property("stem", Twig?.self, options: .init(inverse: "twigs")),
                EntityDescription._property(
                    "twigs", Set<Twig>.self, options: .init(inverse: "stem", deleteRule: .cascade)),
            ])
    }
    var stem: Twig? {
        get { _get("stem", at: 0) }
        set { _set("stem", at: 0, newValue) }
    }
    /// The action of the hook.
    var onDeletion: (() -> Void)?

    override func prepareForDeletion() { onDeletion?() }
}

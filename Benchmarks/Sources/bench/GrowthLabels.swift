// The second model of `bench --growth`: labels and bottles, with the kinds of properties that papers do not have.
//
// Invariants
//   1. The store is made when an operation asks for it, and is another file than that of the papers: no operation on
//      papers becomes slower by it.

import Espalier
import Foundation

/// The value of a transformable attribute.
struct Ink: Equatable {
    var red: UInt8
    var green: UInt8
}

struct InkTransformer: AttributeTransformer {
    func data(from ink: Ink) throws -> Data { Data([ink.red, ink.green]) }

    func value(from data: Data) throws -> Ink {
        guard data.count == 2 else { throw WrongResult(expected: 2, found: data.count) }
        return Ink(red: data[0], green: data[1])
    }
}

@Composite struct LabelSize {
    var width: Int = 0
    var height: Int = 0
}

@Entity class Label: ManagedObject {
    @Attribute(.indexed) var code: String = ""
    @Attribute(.derived(.canonical(of: \Label.code))) var plainCode: String?
    var number: Int = 0
    var size: LabelSize = LabelSize()
    var tags: [String] = []
    @Attribute(.transformable(by: "Ink")) var ink: Ink?
    @Relationship(inverse: \Box.labels) var box: Box?
    var pile: Box?
    var strip: Box?
}

@Entity final class Sticker: Label {
    var glue: Int = 0
}

@Entity final class Box: ManagedObject {
    @Attribute(.derived(.count(of: \Box.labels))) var labelCount: Int
    var labels: ToMany<Label>
    @Relationship(inverse: \Label.pile) var pile: Set<Label>
    @Relationship(inverse: \Label.strip) var strip: [Label]
    @FetchedProperty(where: "box == $FETCH_SOURCE") var found: [Label]
}

@Entity final class Crate: ManagedObject {
    var name: String = ""
    @Relationship(inverse: \Bottle.crate, deleteRule: .cascade) var bottles: ToMany<Bottle>
    @Relationship(inverse: \Bottle.keeper, deleteRule: .deny) var kept: ToMany<Bottle>
}

@Entity final class Bottle: ManagedObject {
    var number: Int = 0
    @Attribute(.unique) var serial: String = ""
    var crate: Crate?
    var keeper: Crate?
}

/// A store of labels and bottles, in a folder of another one.
final class LabelStore {
    let coordinator: PersistentStoreCoordinator
    let count: Int
    private var contexts: [ManagedObjectContext] = []

    /// Opens the store in `folder`, or makes it there.
    ///
    /// It has `count` boxes with one label each, of which every other one is a sticker; the first box has all labels as
    /// its pile and as its strip. A crate holds `count` bottles, which must not outlive it, and another one cannot be
    /// deleted as long as it keeps them.
    init(_ count: Int, in folder: URL) throws {
        try AttributeTransformers.register(InkTransformer(), forName: "Ink")
        let path = folder.path + "/labels.espalier"
        let isNew = !FileManager.default.fileExists(atPath: path)
        coordinator = try PersistentStoreCoordinator(
            file: path, of: [Box.self, Label.self, Sticker.self, Crate.self, Bottle.self])
        self.count = count
        guard isNew else { return }
        try fillLabels()
        try fillBottles()
        forgetContexts()
    }

    private func fillLabels() throws {
        let context = context()
        let first = Box(context: context)
        for number in 0..<count {
            let label: Label = number.isMultiple(of: 2) ? Sticker(context: context) : Label(context: context)
            (label.code, label.number) = (PaperStore.code("L", number), number)
            label.box = number == 0 ? first : Box(context: context)
            (label.pile, label.strip) = (first, first)
        }
        try context.save()
    }

    private func fillBottles() throws {
        let context = context()
        let (crate, keeper) = (Crate(context: context), Crate(context: context))
        (crate.name, keeper.name) = ("crate", "keeper")
        for number in 0..<count {
            let bottle = Bottle(context: context)
            (bottle.number, bottle.serial) = (number, PaperStore.code("b", number))
            (bottle.crate, bottle.keeper) = (crate, keeper)
        }
        try context.save()
    }

    /// A new context, which lives until `forgetContexts`.
    func context() -> ManagedObjectContext {
        contexts.append(ManagedObjectContext(coordinator))
        return contexts[contexts.count - 1]
    }

    func forgetContexts() { contexts = [] }

    func close() throws {
        forgetContexts()
        try coordinator.closeStores()
    }
}

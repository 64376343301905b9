// Transformable attributes whose type is `any P`: the transformer of their name decides the type of each value.

import Espalier
import Foundation
import Testing

protocol Figure {
    var sides: Int { get }
}

struct Square: Figure {
    var sides: Int { 4 }
}

struct Polygon: Figure {
    var sides: Int
}

struct FigureTransformer: AttributeTransformer {
    func data(from figure: any Figure) throws -> Data { Data([UInt8(clamping: figure.sides)]) }

    func value(from data: Data) throws -> any Figure {
        guard let sides = data.first, data.count == 1 else { throw CocoaError(.coderReadCorrupt) }
        if sides == 4 { return Square() }
        return Polygon(sides: Int(sides))
    }
}

@Entity final class Drawing: ManagedObject {
    @Attribute(.transformable(by: "Figure")) var figure: (any Figure)?
    @Attribute(.transformable(by: "Figure")) var frame: Optional<any Figure>
}

@Suite struct ExistentialAttributeTests {
    @Test func `a transformable attribute holds values of several types of one protocol (MD-24)`() throws {
        try AttributeTransformers.register(FigureTransformer(), forName: "Figure")
        let container = try PersistentContainer(
            model: ManagedObjectModel(for: [Drawing.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let drawing = Drawing(context: context)
        #expect(drawing.figure == nil && drawing.frame == nil)
        drawing.figure = Square()
        drawing.frame = Polygon(sides: 6)
        try context.save()

        let reader = ManagedObjectContext(container.persistentStoreCoordinator)
        let stored = try #require(try reader.fetch(FetchRequest<Drawing>()).first)
        #expect(stored.figure is Square && stored.frame is Polygon && stored.frame?.sides == 6)
        stored.figure = nil
        #expect(stored.figure == nil && stored.hasPersistentChangedValues)
    }
}

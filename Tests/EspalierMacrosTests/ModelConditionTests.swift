// Conditions, expressions and orders of classes as predicates, expressions and key paths: they mean what texts mean.

import Espalier
import Foundation
import Testing

@Entity(indexes: [EntityDescription.Index("area", on: [.init(expression: "width * height")])])
final class Easel: ManagedObject {
    #Index<Easel>([\.width], matching: Easel.isLarge)
    static let isLarge: Predicate<Easel> = #Predicate { $0.width >= 100 && $0.title != "" }
    @Attribute(.matching(#Predicate<Int> { $0 > 0 && $0 != 13 }, message: "unlucky")) var width: Int = 1
    var height: Int = 1
    var title: String = ""
    @Attribute(.derived(.count(of: \Easel.sketches, matching: #Predicate<Sketch> { $0.year > 1900 }))) var modern: Int
    var sketches: ToMany<Sketch>
    @FetchedProperty(
        matching: #Predicate<Easel, Easel> { $0.width < $1.width && $0 != $1 },
        sortedBy: [.init(TypedSortKey(\Easel.title, order: .reverse))])
    var smaller: [Easel]
    @FetchedProperty(matching: #Predicate<Sketch> { $0.year < 1900 }) var old: [Sketch]
}

@Entity final class Sketch: ManagedObject {
    var year: Int = 0
    @Relationship(inverse: \Easel.sketches) var easel: Easel?
}

@Entity final class Blurred: ManagedObject {
    #Index<Blurred>([\.width], matching: Blurred.isWide)
    static let isWide: Predicate<Blurred> = #Predicate { $0.half > 1 }
    var width: Int = 0
    @FetchedProperty(sortedBy: [.init(TypedSortKey(\Blurred.half))]) var others: [Blurred]

    var half: Int { width / 2 }
}

@Suite struct ModelConditionTests {
    @Test func `typed conditions, expressions and orders of a class are those that texts give (C-10)`() throws {
        let easel = try #require(try ManagedObjectModel(for: [Easel.self]).entity(named: "Easel"))

        #expect(
            easel.description.indexes == [
                .init("area", on: [.init(expression: "width * height")]),
                .init("width_partial", on: [.init("width")], predicateFormat: "width >= 100 AND title != \"\""),
            ])
        let area = #Expression<Easel, Int> { $0.width * $0.height }
        #expect(easel.description.indexes[0] == EntityDescription.Index("area", on: [.init(expression: area)]))
        #expect(
            easel.attribute(named: "width")?.description.validationRules == [
                ValidationRule(.predicate("SELF > 0 AND SELF != 13"), message: "unlucky")
            ])
        #expect(easel.attribute(named: "modern")?.derivation == .count(of: "sketches", where: "year > 1900"))
        let (smaller, old) = (easel.fetchedProperties[0], easel.fetchedProperties[1])
        #expect(smaller.predicateFormat == "width < $FETCH_SOURCE.width AND SELF != $FETCH_SOURCE")
        #expect(smaller.sortElements == [.init("title", isAscending: false)] && old.predicateFormat == "year < 1900")
    }

    @Test func `typed conditions of a class hold in a context and in a save (C-10)`() throws {
        let container = try PersistentContainer(model: try ManagedObjectModel(for: [Easel.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let easels = (1...3).map { width in
            let easel = Easel(context: context)
            (easel.width, easel.title) = (width, "\(width)")
            return easel
        }
        for year in [1850, 1950] {
            let sketch = Sketch(context: context)
            (sketch.year, sketch.easel) = (year, easels[0])
        }
        try context.save()
        #expect(easels[2].smaller == [easels[1], easels[0]] && easels[0].smaller.isEmpty)
        #expect(easels[0].modern == 1 && easels[0].old.map(\.year) == [1850])

        easels[0].width = 13
        let error = #expect(throws: ContextError.self) { try context.save() }
        guard case .violations(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.map(\.property) == ["width"] && "\(found)".contains("unlucky"))
    }

    @Test func `a model refuses typed conditions and orders without a counterpart, and says why`() throws {
        let error = try #require(throws: ModelError.self) { try ManagedObjectModel(for: [Blurred.self]) }

        let text = "\(error)"
        #expect(text.contains("cannot be part of a fetch") && text.contains("Blurred"), "\(text)")
    }
}

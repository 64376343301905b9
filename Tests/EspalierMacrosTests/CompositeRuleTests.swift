// Rules of the elements of composites: they are checked with the attribute, and named by their place in it.

import Espalier
import Testing

@Composite struct Extent {
    @Attribute(.maximum(9.5)) var width: Double = 1
}

@Composite struct Sticker {
    @Attribute(.maximumLength(3, message: "too long")) var code: String = ""
    @Attribute(.minimum(0)) var price: Int?
    var size: Extent
}

@Entity final class Crate: ManagedObject {
    var label: Sticker = Sticker(size: Extent())
    var spare: Sticker?
}

@Suite struct CompositeRuleTests {
    @Test func `rules of elements are checked at any depth, and a violation names the element (MD-16, MD-26)`() throws {
        let container = try PersistentContainer(model: try ManagedObjectModel(for: [Crate.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let crate = Crate(context: context)
        func broken() -> [String?] {
            let error = #expect(throws: ContextError.self) { try context.save() }
            guard case .violations(let found)? = error else { return ["\(String(describing: error))"] }
            #expect(crate.violations(of: \.label, in: .violations(found)).count == found.count)
            #expect(crate.violations(of: \.spare, in: .violations(found)).isEmpty)
            return found.map(\.property)
        }

        crate.label = Sticker(code: "long", price: -1, size: Extent(width: 10))
        #expect(broken() == ["label.code", "label.price", "label.size.width"])
        crate.label = Sticker(code: "abc", price: nil, size: Extent(width: 9.5))
        try context.save()
        crate.label.size.width = 12
        #expect(broken() == ["label.size.width"])
        crate.label.size.width = 2
        crate.spare = Sticker(code: "x", price: 0, size: Extent())
        try context.save()

        var label = Sticker(code: "a b c", price: 1, size: Extent())
        let error = #expect(throws: ContextError.self) { try crate.validateValue(&label, for: \.label) }
        #expect("\(String(describing: error))".contains("too long"))
    }

    @Test func `an element has no options but rules`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Composite struct Place {
                @Attribute(.maximumLength(3)) var code: String
                @Attribute(.indexed) var name: String // error: an element of a composite has rules only
                @Attribute(originalName: "b") var town: String // error: an element of a composite has rules only
            }
            """#)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }
}

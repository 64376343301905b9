// Parts of compiled models that no real archive here has: each is read as far as its form is known, or refused by name.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct CompiledPartTests {
    @Test func `the parts of a compiled model that no sample shows are refused by name`() throws {
        var builder = ArchiveBuilder()
        let total = builder.add("NSDerivedAttributeDescription", [("NSAttributeType", .integer(300))])
        let name = builder.add("NSAttributeDescription", [("NSAttributeType", .integer(700))])
        func index(
            _ name: String, _ condition: [(String, ArchiveBuilder.Item)], _ part: [(String, ArchiveBuilder.Item)]
        ) -> ArchiveBuilder.Item {
            let element = builder.add(
                "NSFetchIndexElementDescription",
                [("NSFetchIndexElementType", .integer(0)), ("NSAscending", .boolean(true))] + part)
            let parts = builder.list([element])
            return builder.add(
                "NSFetchIndexDescription", [("NSIndexName", .text(name)), ("NSIndexElements", parts)] + condition)
        }
        let condition = builder.add("NSComparisonPredicate", [])
        let partial = index("partial", [("NSPartialIndexPredicate", condition)], [("NSPropertyName", .text("name"))])
        let computed = index("computed", [], [])
        let indexes = builder.list([partial, computed])
        let entity = builder.add(
            "NSEntityDescription",
            [
                ("NSEntityName", .text("A")), ("NSFetchIndexDescriptions", indexes),
                ("NSProperties", builder.map([("total", total), ("name", name)])),
            ])
        let root = builder.add(
            "NSManagedObjectModel",
            [("NSEntities", builder.map([("A", entity)])), ("NSAnyConfigurations", builder.map([("c", .null)]))])
        let document = try ModelDocument(compiled: builder.archive(root), path: "f")
        let model = try ManagedObjectModel(
            document, ignoring: [.derivedAttributes, .specialIndexes, .unknownAttributes])

        let notes = try document.conversion().unsupported.map(\.description)
        for beginning in [
            "model: the attribute 'NSAnyConfigurations' is unknown",
            "entity 'A', attribute 'total': is derived, but the file does not have its expression",
            "entity 'A', fetchIndex 'partial': has a condition",
            "entity 'A', fetchIndex 'computed': indexes an expression",
        ] {
            #expect(notes.count { $0.hasPrefix(beginning) } == 1, "\(beginning): \(notes)")
        }
        #expect(notes.count == 4)
        #expect(model.entity(named: "A")?.description.indexes == [])
    }

    @Test func `a composite has the parts that its archive lists, and none where it lists none`() throws {
        var builder = ArchiveBuilder()
        func attribute(
            _ name: String, _ type: Int64, _ more: [(String, ArchiveBuilder.Item)] = []
        ) -> ArchiveBuilder.Item {
            let className = type == 2100 ? "NSCompositeAttributeDescription" : "NSAttributeDescription"
            return builder.add(
                className,
                [
                    ("NSAttributeType", .integer(type)), ("NSPropertyName", .text(name)),
                    ("NSIsOptional", .boolean(true)),
                ] + more)
        }
        let inner = builder.list([attribute("zone", 700)])
        let parts = builder.list([attribute("city", 700), attribute("code", 2100, [("anyName", inner)])])
        let properties = builder.map([
            ("home", attribute("home", 2100, [("anyName", parts)])),
            ("work", attribute("work", 2100, [("anyName", parts)])), ("other", attribute("other", 2100)),
        ])
        let entity = builder.add("NSEntityDescription", [("NSEntityName", .text("A")), ("NSProperties", properties)])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("A", entity)]))])
        let document = try ModelDocument(compiled: builder.archive(root), path: "f")
        let model = try ManagedObjectModel(document, ignoring: [.compositeParts])
        let home = try #require(model.entity(named: "A")?.attribute(named: "home")?.description)

        #expect(document.root.children(.composite).map { $0["name"] } == ["AHomeCode", "AHome"])
        #expect(home.elements.map(\.name) == ["city", "code"])
        #expect(home.elements.last?.elements.map(\.name) == ["zone"])
        #expect(model.entity(named: "A")?.attribute(named: "work")?.description.elements == home.elements)
        #expect(model.entity(named: "A")?.attribute(named: "other") == nil)
        #expect(try document.conversion().unsupportedFeatures == [.compositeParts])
        #expect(try ModelDocument(xml: document.xml()) == document)
    }
}

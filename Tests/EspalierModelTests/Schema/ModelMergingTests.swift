// One model merged from several (MD-02); the configurations, requests, texts and hash modifiers of a model.

import EspalierModel
import Testing

@Suite struct ModelMergingTests {
    private func model(
        _ entities: [EntityDescription], _ identifiers: [String] = [],
        _ configurations: [ConfigurationDescription] = [],
        _ templates: [FetchRequestTemplate] = []
    ) throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: entities, versionIdentifiers: identifiers, configurations: configurations,
            fetchRequestTemplates: templates)
    }

    @Test func `a merged model has the entities, configurations and requests of all, each once`() throws {
        let shared = EntityDescription("Shared", attributes: [AttributeDescription("n", .string)])
        let first = try model(
            [shared, EntityDescription("A")], ["1"], [ConfigurationDescription("C", entities: ["A"])],
            [FetchRequestTemplate("q", entity: "A")])
        let second = try model(
            [EntityDescription("B"), shared], ["1", "2"],
            [ConfigurationDescription("C", entities: ["B"]), ConfigurationDescription("D", entities: ["Shared"])],
            [FetchRequestTemplate("p", entity: "B")])
        let merged = try ManagedObjectModel(byMerging: [first, second])

        #expect(merged.entities.map(\.name) == ["Shared", "A", "B"])
        #expect(merged.versionIdentifiers == ["1", "2"])
        #expect(merged.configurations.map(\.name) == ["C", "D"])
        #expect(merged.entities(forConfigurationNamed: "C")?.map(\.name) == ["A", "B"])
        #expect(merged.entities(forConfigurationNamed: "E") == nil)
        #expect(merged.fetchRequestTemplate(named: "p")?.entity == "B")
        #expect(merged.fetchRequestTemplates.map(\.name) == ["q", "p"])
        #expect(try ManagedObjectModel(byMerging: []).entities.isEmpty)
    }

    @Test func `what two models describe differently is not merged, and every such name is told`() throws {
        let first = try model(
            [EntityDescription("A"), EntityDescription("B")], [], [], [FetchRequestTemplate("q", entity: "A")])
        let second = try model(
            [EntityDescription("A", isAbstract: true), EntityDescription("B", userInfo: ["k": "v"])], [], [],
            [FetchRequestTemplate("q", entity: "B")])
        let error = try #require(throws: ModelError.self) { try ManagedObjectModel(byMerging: [first, second]) }

        #expect(
            error.problems.map(\.description) == [
                "A: two models describe this entity differently; rename one, or make them equal",
                "B: two models describe this entity differently; rename one, or make them equal",
                "two models describe the request 'q' differently; rename one of them",
            ])
    }

    @Test func `configurations and requests that name what is not there are refused`() throws {
        let error = try #require(throws: ModelError.self) {
            try model(
                [EntityDescription("Album")], [],
                [
                    ConfigurationDescription("C", entities: ["Albm", "Album", "Album"]),
                    ConfigurationDescription("C", entities: []), ConfigurationDescription("", entities: []),
                ],
                [
                    FetchRequestTemplate("q", entity: "Artist", fetchLimit: -1),
                    FetchRequestTemplate("q", entity: "Album"),
                    FetchRequestTemplate("", entity: "Album"),
                ])
        }

        #expect(
            error.problems.map(\.message) == [
                "configuration 'C' names the entity 'Albm', which does not exist; did you mean 'Album'?",
                "configuration 'C' names 'Album' twice; remove one",
                "configuration 'C' is defined twice; rename one of them",
                "the name of a configuration is empty; give it one",
                "request 'q' names the entity 'Artist', which does not exist",
                "request 'q' has the limit -1; it cannot be negative, 0 means no limit",
                "request 'q' is defined twice; rename one of them", "the name of a request is empty; give it one",
            ])
    }

    @Test func `a request whose condition cannot fit is refused with a model that is made in code (FR-17)`() throws {
        let entity = EntityDescription(
            "A",
            attributes: [AttributeDescription("n", .string), AttributeDescription("t", .string, isTransient: true)],
            relationships: [RelationshipDescription("r", to: "A", .toMany)])
        func problems(_ format: String) throws -> [String] {
            let template = FetchRequestTemplate("q", entity: "A", predicateFormat: format)
            do throws(ModelError) {
                _ = try ManagedObjectModel(entities: [entity], fetchRequestTemplates: [template])
                return []
            } catch {
                return error.problems.map(\.message)
            }
        }

        for format in [
            "n == $N", "n IN $LIST", "n BETWEEN $ENDS", "$X.n == n", "ANY $X.r.n == 'a'", "ANY r.n == $N",
            "SUBQUERY($X.r, $x, $x.n == $N).@count > 0", "SUBQUERY($X.r, $x, $x.n == 'a').@count > 0", "n MATCHES $P",
            "n == 'a' AND $X.y.@count > $LEAST",
        ] {
            #expect(try problems(format) == [], "\(format)")
        }
        for format in ["m == 1", "n ==", "n IN 1", "m == $N", "n.x == $N", "t == $N", "ANY r.m == $N"] {
            let found = try problems(format)
            #expect(found.count == 1 && found[0].hasPrefix("request 'q' is not valid: pred"), "\(format): \(found)")
        }
        // A model that comes from a file has the request, and so has one that is merged from it.
        let taken = try ManagedObjectModel(
            entities: [entity], versionIdentifiers: [], classes: [:],
            fetchRequestTemplates: [FetchRequestTemplate("q", entity: "A", predicateFormat: "m == 1")])
        #expect(try ManagedObjectModel(byMerging: [taken]).fetchRequestTemplates.count == 1)
    }

    @Test func `a request of the model gets the values of its variables`() throws {
        let template = FetchRequestTemplate(
            "q", entity: "A", predicateFormat: "n == $N",
            sortedBy: [.init("n", isAscending: false, options: .caseInsensitive)], fetchLimit: 3, fetchOffset: 2,
            fetchBatchSize: 20, includesSubentities: false, includesPendingChanges: false,
            returnsObjectsAsFaults: false, includesPropertyValues: false, returnsDistinctResults: true,
            relationshipKeyPathsForPrefetching: ["r"])
        let request = try FetchRequest<ObjectID>(template, substitutionVariables: ["N": "x"])

        #expect(request.predicate?.description == "n == \"x\"")
        #expect(request.entityName == "A" && request.fetchLimit == 3)
        #expect(!request.includesSubentities && !request.includesPendingChanges && !request.returnsObjectsAsFaults)
        #expect(request.fetchOffset == 2 && request.fetchBatchSize == 20 && !request.includesPropertyValues)
        #expect(request.sortKeys == [SortKey("n", ascending: false, options: .caseInsensitive)])
        #expect(request.relationshipKeyPathsForPrefetching == ["r"])
        let values = try ValueRequest(template, columns: ["n"], substitutionVariables: ["N": "x"])
        #expect(values.returnsDistinctResults && values.terms.fetchLimit == 3 && values.propertiesToFetch == ["n"])
        #expect(try !ValueRequest(FetchRequestTemplate("all", entity: "A")).returnsDistinctResults)
        #expect(throws: FetchPredicateError.self) { try FetchRequest<ObjectID>(template) }
        #expect(try FetchRequest<ObjectID>(FetchRequestTemplate("all", entity: "A")).predicate == nil)
        let broken = FetchRequestTemplate("q", entity: "A", predicateFormat: "n ==")
        #expect(throws: FetchPredicateError.self) { try FetchRequest<ObjectID>(broken) }
    }

    @Test func `a modifier changes the hash of its entity, and texts of the application's own do not`() throws {
        func hash(_ entity: EntityDescription) throws -> [UInt8] { try model([entity]).entities[0].versionHash }
        let plain = EntityDescription(
            "A", attributes: [AttributeDescription("n", .string)],
            relationships: [RelationshipDescription("r", to: "A")])
        var changed = plain
        changed.userInfo = ["k": "v"]
        changed.attributes[0].userInfo = ["k": "v"]
        changed.relationships[0].userInfo = ["k": "v"]
        changed.managedObjectClassName = "App.A"
        #expect(try hash(changed) == hash(plain))

        var hashes: Set<[UInt8]> = [try hash(plain)]
        for text in ["1", "2"] {
            var entity = plain
            entity.versionHashModifier = text
            hashes.insert(try hash(entity))
            entity = plain
            entity.attributes[0].versionHashModifier = text
            hashes.insert(try hash(entity))
            entity = plain
            entity.relationships[0].versionHashModifier = text
            hashes.insert(try hash(entity))
        }
        #expect(hashes.count == 7)
    }

    @Test func `what a store keeps of a model is without texts, classes and modifiers`() throws {
        let inner = AttributeDescription("p", .string, versionHashModifier: "m", userInfo: ["k": "v"])
        let entity = EntityDescription(
            "A",
            attributes: [
                AttributeDescription("n", .composite, elements: [inner], versionHashModifier: "m", userInfo: ["k": "v"])
            ],
            relationships: [RelationshipDescription("r", to: "A", versionHashModifier: "m", userInfo: ["k": "v"])],
            managedObjectClassName: "App.A", versionHashModifier: "m", userInfo: ["k": "v"])
        let model = try model([entity])
        let stored = EntityDescription(
            "A", attributes: [AttributeDescription("n", .composite, elements: [AttributeDescription("p", .string)])],
            relationships: [RelationshipDescription("r", to: "A")])

        #expect(model.storedDescriptions == [stored])
        #expect(try EncodedModel(bytes: EncodedModel(model).bytes) == EncodedModel(entities: [stored]))
    }

    @Test func `empty modifiers and names of classes are refused, and an entity has one successor`() throws {
        let error = try #require(throws: ModelError.self) {
            try model([
                EntityDescription(
                    "A", attributes: [AttributeDescription("n", .string, versionHashModifier: "")],
                    relationships: [RelationshipDescription("r", to: "A", versionHashModifier: "")],
                    renamingIdentifier: "Old", managedObjectClassName: "", versionHashModifier: ""),
                EntityDescription("B", renamingIdentifier: "Old"),
            ])
        }

        let empty = "the version hash modifier is empty; give a text, or nil"
        #expect(
            error.problems.map(\.description) == [
                "A: \(empty)", "A: the name of the class is empty; give one, or nil", "A.n: \(empty)", "A.r: \(empty)",
                "B: entity 'A' has the renaming identifier 'Old' too; only one entity can have it",
            ])
    }
}

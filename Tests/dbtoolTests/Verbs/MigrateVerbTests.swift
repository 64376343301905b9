// `dbtool diff-models` and `dbtool migrate`, with model files of other projects and generated rows.
//
// Not here: whole chains of versions (VersionChainTests).

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct MigrateVerbTests {
    private func value(_ type: AttributeType, _ number: Int) -> AttributeValue {
        switch type {
        case .integer16, .integer32, .integer64: .integer(Int64(number))
        case .decimal: .decimal(Decimal(number))
        case .double: .double(Double(number) / 4)
        case .float: .float(Float(number) / 4)
        case .string: .string("text \(number)")
        case .boolean: .boolean(number % 2 == 0)
        case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
        case .binary: .binary(Data([UInt8(number)]))
        case .transformable: .transformable(Data([UInt8(number)]))
        case .uuid: .uuid(UUID(uuid: (UInt8(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
        case .uri: .uri(URL(filePath: "/\(number)"))
        case .undefined, .objectID, .composite: .null
        }
    }

    /// Makes a store with ten related rows of each entity that is not abstract.
    private func makeStore(at path: String, _ model: ManagedObjectModel) throws {
        let store = try BTreeStore.open(path: path, model: model)
        var request = SaveRequest()
        var ids: [String: [ObjectID]] = [:]
        for entity in model.entities where !entity.isAbstract {
            let own = (0..<10).map { _ in ObjectID(temporaryFor: entity.name) }
            for ancestor in model.entities where entity.isKind(of: ancestor) { ids[ancestor.name, default: []] += own }
        }
        for entity in model.entities where !entity.isAbstract {
            for (number, id) in (ids[entity.name] ?? []).filter({ $0.entityName == entity.name }).enumerated() {
                let destinations = entity.relationships.map { relationship -> ObjectID? in
                    let targets = ids[relationship.description.destination] ?? []
                    return relationship.isToMany || targets.isEmpty ? nil : targets[number % targets.count]
                }
                request.insertions.append(
                    .init(
                        id: id,
                        values: entity.attributes.map {
                            $0.isTransient ? .null : value($0.type, 10 * entity.index + number + 1)
                        },
                        destinations: destinations))
                for relationship in entity.relationships where relationship.isToMany {
                    if let inverse = model.inverse(of: relationship), !inverse.isToMany { continue }
                    let targets = ids[relationship.description.destination] ?? []
                    let added = [targets[number % targets.count]]
                    request.links.append(
                        .init(
                            owner: id, slot: relationship.slot, added: added, removed: [],
                            order: relationship.isOrdered ? added : nil, orderBase: nil))
                }
            }
        }
        _ = try store.save(request)
        try store.close()
    }

    /// The values of all attributes of an entity, by name, in the order of the rows.
    private func values(_ path: String, _ entityName: String) throws -> [String: [AttributeValue]] {
        let store = try BTreeStore.openWithStoredModel(path: path)
        defer { try? store.close() }
        let entity = try #require(store.model.entity(named: entityName))
        let rows = try store.fetch(StoreFetch(entity: entity, includesSubentities: false))
        var found: [String: [AttributeValue]] = [:]
        for attribute in entity.attributes { found[attribute.name] = rows.map { $0.value(at: attribute.slot) } }
        return found
    }

    @Test func `a version of a real model that requires a new relationship is refused, and a version between helps`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store.espalier").path
            let (old, new) = (RealVersions.chains[3][1], RealVersions.chains[3][2])
            try makeStore(at: path, try RealVersions.model(old))

            let run = ToolRun("migrate", path, "--model", RealVersions.models.appending(path: new).path)

            #expect(run.code == 1)
            #expect(run.output.contains("Continent.moods must now have a value, but 10 rows (Continent/"))
            #expect(run.output.contains("make it optional in an intermediate version"))
            let between = try RealVersions.between(RealVersions.model(old), RealVersions.model(new))
            #expect(try BTreeStore.migrate(at: path, to: between).refusal == nil)
        }
    }

    @Test func `a to-one relationship of a real model becomes many-to-many under another name`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store.espalier").path
            let chain = RealVersions.chains[0]
            let old = try RealVersions.model(chain[2])
            try makeStore(at: path, old)
            let file = RealVersions.models.appending(path: chain[3]).path

            let difference = ToolRun("diff-models", RealVersions.models.appending(path: chain[2]).path, file)
            let run = ToolRun("migrate", path, "--model", file)

            #expect(difference.code == 1 && difference.output.contains("was called favoriteFolder"))
            #expect(run.code == 0, "\(run.output)\(run.errors)")
            let store = try BTreeStore.openWithStoredModel(path: path)
            let entity = try #require(store.model.entity(named: "BookmarkEntity"))
            let folders = try #require(entity.relationship(named: "favoriteFolders"))
            let ids = try store.fetchIDs(StoreFetch(entity: entity))
            #expect(try store.destinations(of: folders, for: ids).map(\.count) == Array(repeating: 1, count: 10))
            try store.close()
        }
    }

    @Test func `differences and plans are printed for people and for programs`() throws {
        try withTemporaryFolder { folder in
            let (path, newPath) = (folder.appending(path: "a").path, folder.appending(path: "b").path)
            func model(_ change: (inout [AttributeDescription]) -> Void) throws -> ManagedObjectModel {
                var attributes = [AttributeDescription("name", .string), AttributeDescription("mood", .string)]
                change(&attributes)
                return try ManagedObjectModel(entities: [EntityDescription("Track", attributes: attributes)])
            }
            try makeStore(at: path, try model { _ in })
            try makeStore(at: newPath, try model { $0 = [AttributeDescription("name", .integer32)] })

            let difference = ToolRun("diff-models", path, newPath)
            #expect(difference.code == 1)
            #expect(difference.output.contains("Track.mood  removed attribute"))
            #expect(difference.output.contains("removal of Track.mood"))
            let json = ToolRun("diff-models", path, newPath, "--json")
            #expect(json.output.contains(#""losses":["removal of Track.mood"]"#))
            #expect(json.output.contains(#""kind":"typeChanged""#))
            #expect(ToolRun("diff-models", path, path).output == "the models are equal\n")

            let dry = ToolRun("migrate", path, "--model", newPath, "--allow", "Track.mood", "--dry-run", "--json")
            #expect(dry.code == 1)
            #expect(dry.output.contains(#""rows":10,"objects":["Track/1","Track/2","#))
            #expect(ToolRun("migrate", path, "--model", newPath, "--allow", "Track.mood").code == 1)
            let misspelt = ToolRun("migrate", path, "--model", newPath, "--allow", "Track.mod")
            #expect(misspelt.code == 2 && misspelt.errors.contains("did you mean 'Track.mood'?"))
            #expect(ToolRun("migrate", path).code == 2)
            #expect(ToolRun("migrate", path, "--model", path).output.contains("already has this model"))
        }
    }

    @Test func `a mapping file of a real project migrates a store, tried first, and a policy that is missing is named`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store.espalier").path
            let chain = RealVersions.chains[2]
            try makeStore(at: path, try RealVersions.model(chain[0]))
            let (old, new) = (try RealVersions.model(chain[0]), RealVersions.models.appending(path: chain[1]).path)
            let files = Checkout.root.appending(path: "Tests/EspalierModelFileTests/Models")
            func mapping(_ name: String) -> String { files.appending(path: name).path }
            let file = mapping("jessesquires+JSQCoreDataKit/Version1_to_Version2.xcmappingmodel")

            let dry = ToolRun("migrate", path, "--model", new, "--mapping", file, "--dry-run")
            #expect(dry.code == 0 && dry.output.contains("would be migrated"), "\(dry.output)\(dry.errors)")
            #expect(ToolRun("diff-models", path, RealVersions.models.appending(path: chain[0]).path).code == 0)
            let run = ToolRun("migrate", path, "--model", new, "--mapping", file, "--json")

            #expect(run.code == 0 && run.output.contains(#""objects":10,"made":10"#), "\(run.output)\(run.errors)")
            #expect(try values(path, "Employee").values.first?.count == 10 && old.entity(named: "Employee") != nil)
            #expect(ToolRun("check", path).code == 0 && ToolRun("audit", path).code == 0)

            let moody = folder.appending(path: "moody.espalier").path
            try makeStore(at: moody, try RealVersions.model(RealVersions.chains[3][4]))
            let missing = ToolRun(
                "migrate", moody, "--model", RealVersions.models.appending(path: RealVersions.chains[3][5]).path,
                "--mapping", mapping("objcio+core-data/Moody 5-Moody 6.xcmappingmodel"))
            #expect(missing.code != 0 && missing.errors.contains("Country5ToCountry6Policy"), "\(missing.errors)")
            let absent = ToolRun("migrate", moody, "--model", new, "--mapping", mapping("none.xcmappingmodel"))
            #expect(absent.code != 0 && absent.errors.contains("none.xcmappingmodel"), "\(absent.errors)")
        }
    }

    @Test func `a migration with a backup leaves the old store beside the new one`() throws {
        try withTemporaryFolder { folder in
            let (path, backup) = (folder.appending(path: "a").path, folder.appending(path: "before").path)
            let chain = RealVersions.chains[3]
            try makeStore(at: path, try RealVersions.model(chain[0]))
            let difference = ModelDifference(
                from: try RealVersions.model(chain[0]), to: try RealVersions.model(chain[1]))

            let run = ToolRun(
                "migrate", path, "--model", RealVersions.models.appending(path: chain[1]).path, "--allow",
                difference.losses.map(\.name).joined(separator: ","), "--backup", backup)

            #expect(run.code == 0, "\(run.output)\(run.errors)")
            #expect(ToolRun("diff-models", backup, RealVersions.models.appending(path: chain[0]).path).code == 0)
            #expect(ToolRun("check", backup).code == 0)
        }
    }
}

// Stores that are migrated by real mapping files, against plain values: the mood application's versions 2 to 6, the
// employees' versions 1 to 3, and the creatures' versions 1 and 2.

import Espalier
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct MappingFileMigrationTests {
    private static func model(_ path: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(contentsOf: RealModels.url(path))
    }

    private static func withContext(
        _ path: String, _ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Void
    ) throws {
        let container = try PersistentContainer(model: model, stores: [PersistentStoreDescription(path: path)])
        try body(ManagedObjectContext(container.persistentStoreCoordinator))
        try container.close()
    }

    private static func objects(_ context: ManagedObjectContext, _ entity: String) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    }

    private static func checked(_ path: String, _ model: ManagedObjectModel) throws -> [String: Int] {
        let store = try BTreeStore.open(path: path, model: model)
        let report = try store.check()
        #expect(report.isOK && report.dangling.isEmpty, "\(report.findings)")
        try store.close()
        return report.rowCounts.mapValues { Int($0) }.filter { $0.value > 0 }
    }

    // MARK: Inputs of the fuzz body

    @Test func `every input of the fuzz body that is a description becomes mappings, or an error with the way out`()
        throws
    {
        let folder = Checkout.root.appending(path: "Fuzz/Corpus/mapping-file")
        var made = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let bytes = try Data(contentsOf: folder.appending(path: name))
            guard let description = try? MappingDescription(xml: bytes) else { continue }
            var policies: [String: any EntityMigrationPolicy] = [:]
            var replacements: [String: PropertyMapping] = [:]
            for mapping in description.entityMappings where mapping.destinationEntityName != nil {
                if let policy = mapping.policyClassName { policies[policy] = PlainMigrationPolicy() }
                for property in mapping.propertyMappings {
                    guard case .expression = property.source else { continue }
                    replacements["\(mapping.name).\(property.name)"] = .constant(property.name, .null)
                }
            }
            // Without hooks and sources of the application the first of them is asked for by name.
            do throws(MappingError) {
                _ = try MappingModel(description)
                #expect(policies.isEmpty && replacements.isEmpty, "\(name)")
            } catch {
                #expect("\(error)".hasPrefix("mapping "), "\(name): \(error)")
            }
            do throws(MappingError) {
                let model = try MappingModel(description, policies: policies, replacing: replacements)
                let kept = description.entityMappings.filter { $0.destinationEntityName != nil }
                #expect(model.entityMappings.map(\.name) == kept.map(\.name), "\(name)")
                made += 1
            } catch {
                switch error {
                // An expression for the objects has no replacement.
                case .invalidPredicate, .unsupportedExpression(_, nil, _): continue
                default: Issue.record("\(name): \(error)")
                }
            }
        }
        #expect(made > 3)
    }

    // MARK: Moods

    private static func moody(_ version: Int) throws -> ManagedObjectModel {
        try model("objcio+core-data/Moody.xcdatamodeld/Moody \(version).xcdatamodel")
    }

    private static func mappings(_ version: Int, _ policies: [String: any EntityMigrationPolicy] = [:]) throws
        -> MappingModel
    {
        let file = "objcio+core-data/Moody \(version)-Moody \(version + 1).xcmappingmodel"
        return try MappingModel(MappingFiles.description(file), policies: policies)
    }

    /// Makes continents again from the numbers that countries have, as the application's own policy does.
    private struct CountryPolicy: EntityMigrationPolicy {
        func createDestinationInstances(
            for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
        ) throws {
            let country = try session.createDestinationInstance(for: source, mapping)
            guard case .integer(let number) = source[attribute: "isoContinent"], number != 0 else { return }
            let key = "continent \(number)"
            let known = session.userInfo[key] as? ManagedObject
            let continent = try known ?? session.destinationContext.insertNewObject(forEntityName: "Continent")
            session.userInfo[key] = continent
            try continent.setValue(.integer(number), forKey: "numericISO3166Code")
            try country.setValue(.toOne(continent), forKey: "continent")
        }

        func createRelationships(
            for destination: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
        ) throws {}
    }

    /// Saves continents, countries and moods; returns the country of each mood, and the continent of each country.
    ///
    /// Every country has a mood and every continent a country, as the models require.
    private static func saveMoods(
        at path: String, moods: Int, _ random: inout SeededGenerator
    ) throws -> (countries: [Int64: Int64?], continents: [Int64: Int64?]) {
        var (countries, continents): ([Int64: Int64?], [Int64: Int64?]) = ([:], [:])
        try withContext(path, try moody(2)) { context in
            func region(_ entity: String, _ number: Int64) throws -> ManagedObject {
                let region = try context.insertNewObject(forEntityName: entity)
                try region.setValue(.integer(number), forKey: "numericISO3166Code")
                try region.setValue(.date(Date(timeIntervalSinceReferenceDate: Double(number))), forKey: "updatedAt")
                return region
            }
            func pick(_ number: Int, of count: Int) -> Int? {
                if number < count { return number }
                return Bool.random(using: &random) ? Int.random(in: 0..<count, using: &random) : nil
            }
            let lands = try (0..<min(3, moods)).map { try region("Continent", 10_000 + Int64($0)) }
            let places = try (0..<min(7, moods)).map { try region("Country", Int64($0)) }
            for (number, country) in places.enumerated() {
                let index = pick(number, of: lands.count)
                try country.setValue(.toOne(index.map { lands[$0] }), forKey: "continent")
                continents[Int64(number)] = .some(index.map { 10_000 + Int64($0) })
            }
            for number in 0..<moods {
                let mood = try context.insertNewObject(forEntityName: "Mood")
                try mood.setValue(.integer(Int64(number)), forKey: "rating")
                try mood.setValue(.date(Date(timeIntervalSinceReferenceDate: 0)), forKey: "date")
                try mood.setValue(.string("größer \(number)"), forKey: "remoteID")
                let index = pick(number, of: places.count)
                try mood.setValue(.toOne(index.map { places[$0] }), forKey: "country")
                countries[Int64(number)] = .some(index.map { Int64($0) })
            }
            try context.save()
        }
        return (countries, continents)
    }

    private static func number(_ object: ManagedObject?, _ name: String) -> Int64? {
        guard let object, case .integer(let number) = object[attribute: name] else { return nil }
        return number
    }

    private static func target(_ object: ManagedObject, _ name: String) throws -> ManagedObject? {
        guard case .toOne(let target) = try object.value(forKey: name) else { return nil }
        return target
    }

    @Test(arguments: [0, 1, 40])
    func `moods pass through four mapping files, and every object keeps its place`(count: Int) throws {
        let seed = testSeed(default: 31_000) + UInt64(count)
        var random = SeededGenerator(seed: seed)
        try withStorePath { path in
            let world = try Self.saveMoods(at: path, moods: count, &random)

            try Self.mappings(2).migrate(storeAt: path, from: Self.moody(2), to: Self.moody(3))
            try Self.withContext(path, try Self.moody(3)) { context in
                for mood in try Self.objects(context, "Mood") {
                    let rating = try #require(Self.number(mood, "rating"))
                    let country = world.countries[rating] ?? nil
                    let continent = country.flatMap { world.continents[$0] ?? nil }
                    #expect(Self.number(try Self.target(mood, "continent"), "numericISO3166Code") == continent)
                }
            }
            try Self.mappings(3).migrate(storeAt: path, from: Self.moody(3), to: Self.moody(4))
            // The file leaves the continents out, and what led to them.
            let error = #expect(throws: MappingError.self) {
                try Self.mappings(4).migrate(storeAt: path, from: Self.moody(4), to: Self.moody(5))
            }
            guard case .store(.migrationRefused(_, let refusal))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            try Self.mappings(4).migrate(
                storeAt: path, from: Self.moody(4), to: Self.moody(5), MigrationOptions(allowing: Set(refusal.losses)))
            let missing = #expect(throws: MappingError.self) { try Self.mappings(5) }
            guard case .missingPolicy("CountryToCountry", "Migrations.Country5ToCountry6Policy", [])? = missing else {
                Issue.record("\(String(describing: missing))")
                return
            }
            var last = try Self.mappings(5, ["Migrations.Country5ToCountry6Policy": CountryPolicy()])
            last.entityMappings[1].reading = ["isoContinent", "moods"]
            try last.migrate(storeAt: path, from: Self.moody(5), to: Self.moody(6))

            let continents = Set(world.continents.values.compactMap(\.self))
            #expect(
                try Self.checked(path, Self.moody(6))
                    == ["Mood": count, "Country": world.continents.count, "Continent": continents.count]
                    .filter { $0.value > 0 })
            try Self.withContext(path, try Self.moody(6)) { context in
                for mood in try Self.objects(context, "Mood") {
                    let rating = try #require(Self.number(mood, "rating"))
                    #expect(mood[attribute: "remoteID"] == .string("größer \(rating)"), "seed \(seed)")
                    let country = try Self.target(mood, "country")
                    #expect(Self.number(country, "numericISO3166Code") == world.countries[rating], "seed \(seed)")
                }
                for country in try Self.objects(context, "Country") {
                    let number = try #require(Self.number(country, "numericISO3166Code"))
                    let continent = try Self.target(country, "continent")
                    #expect(Self.number(continent, "numericISO3166Code") == world.continents[number], "seed \(seed)")
                }
            }
        }
    }

    // MARK: Employees and creatures

    @Test func `employees get constants and the time, and companies are made of them`() throws {
        let folder = "jessesquires+JSQCoreDataKit"
        let models = try (1...3).map { try Self.model("\(folder)/ExampleModel.xcdatamodeld/Version \($0).xcdatamodel") }
        try withStorePath { path in
            try Self.withContext(path, models[0]) { context in
                for name in ["Ann", "Ül"] {
                    let employee = try context.insertNewObject(forEntityName: "Employee")
                    try employee.setValue(.string(name), forKey: "name")
                    try employee.setValue(.date(.distantPast), forKey: "birthDate")
                }
                try context.save()
            }
            let first = try MappingFiles.description("\(folder)/Version1_to_Version2.xcmappingmodel")
            let begin = Date()
            try MappingModel(first).migrate(storeAt: path, from: models[0], to: models[1])
            let second = try MappingFiles.description("\(folder)/Version2_to_Version3.xcmappingmodel")
            // The file leaves the required employees of a company empty.
            let error = #expect(throws: MappingError.self) {
                try MappingModel(second).migrate(storeAt: path, from: models[1], to: models[2])
            }
            #expect("\(String(describing: error))".contains("Company.employees"))
            let staff = PropertyMapping.made("employees", by: "EmployeeToEmployee")
            try MappingModel(second, replacing: ["EmployeeToCompany.employees": staff])
                .migrate(storeAt: path, from: models[1], to: models[2])

            #expect(try Self.checked(path, models[2]) == ["Employee": 2, "Company": 2])
            try Self.withContext(path, models[2]) { context in
                for company in try Self.objects(context, "Company") {
                    #expect(company[attribute: "name"] == .string("Unknown"))
                    #expect(company[attribute: "profits"] == .decimal(0))
                    guard case .date(let founded) = company[attribute: "dateFounded"] else {
                        Issue.record("no date")
                        continue
                    }
                    #expect(founded >= begin && founded <= Date())
                }
                let employees = try Self.objects(context, "Employee")
                let names = employees.map { $0[attribute: "name"] }
                #expect(Set(names.map { "\($0)" }).count == 2 && names.contains(.string("Ül")))
                #expect(Set(try employees.map { try Self.target($0, "company")?.objectID }).count == 2)
            }
        }
    }

    @Test func `creatures go to the second version and back`() throws {
        let folder = "JohnEstropia+CoreStore"
        let models = try (1...2).map {
            try Self.model(
                "\(folder)/Advanced.EvolutionDemo.V1.xcdatamodeld/Advanced.EvolutionDemo.V\($0).xcdatamodel")
        }
        let forth = try MappingModel(
            MappingFiles.description("\(folder)/Advanced.EvolutionDemo.V2.FromV1.xcmappingmodel"),
            policies: ["Advanced_EvolutionDemo_V2_FromV1MigrationPolicy": PlainMigrationPolicy()])
        let back = try MappingModel(
            MappingFiles.description("\(folder)/Advanced.EvolutionDemo.V1.FromV2.xcmappingmodel"))
        try withStorePath { path in
            try Self.withContext(path, models[0]) { context in
                let creature = try context.insertNewObject(forEntityName: "Creature")
                try creature.setValue(.integer(7), forKey: "numberOfFlagella")
                try creature.setValue(.integer(-1), forKey: "dnaCode")
                try context.save()
            }
            try forth.migrate(storeAt: path, from: models[0], to: models[1])
            try Self.withContext(path, models[1]) { context in
                let creature = try #require(try Self.objects(context, "Creature").first)
                #expect(creature[attribute: "numberOfFlippers"] == .integer(7))
                #expect(creature[attribute: "hasHead"] == .boolean(true))
            }
            let lost: Set<MigrationLoss> = [
                .removal(of: "Creature.hasHead"), .removal(of: "Creature.hasTail"),
                .removal(of: "Creature.hasVertebrae"),
            ]
            try back.migrate(storeAt: path, from: models[1], to: models[0], MigrationOptions(allowing: lost))
            try Self.withContext(path, models[0]) { context in
                let creature = try #require(try Self.objects(context, "Creature").first)
                #expect(creature[attribute: "numberOfFlagella"] == .integer(7))
                #expect(creature[attribute: "dnaCode"] == .integer(-1))
            }
        }
    }

    // MARK: Descriptions that cannot be bound

    @Test func `expressions without a form are refused by name, and replaced by rules in code`() throws {
        var mapping = EntityMappingDescription(
            "CatToPet", from: "Cat", to: "Pet", [.init("name", .expression("uppercaseString($source.name)"))])

        let error = #expect(throws: MappingError.self) { try MappingModel(MappingDescription([mapping])) }
        let replaced = try MappingModel(
            MappingDescription([mapping]), replacing: ["CatToPet.name": .copy("name", from: "call")])

        #expect(
            "\(try #require(error))" == "mapping CatToPet: the expression of name, uppercaseString($source.name), has "
                + "no form here: replace CatToPet.name by a rule in code")
        #expect(error?.code == 134140 && replaced.entityMappings.map(\.propertyMappings.count) == [1])
        (mapping.propertyMappings, mapping.sourceExpression) = ([], "$everything")
        let request = #expect(throws: MappingError.self) { try MappingModel(MappingDescription([mapping])) }
        #expect("\(try #require(request))".contains("$everything"))
        (mapping.predicateFormat, mapping.sourceExpression) = ("lives >", nil)
        let predicate = #expect(throws: MappingError.self) { try MappingModel(MappingDescription([mapping])) }
        guard case .invalidPredicate("CatToPet", _)? = predicate else {
            Issue.record("\(String(describing: predicate))")
            return
        }
        // A mapping that removes objects makes none; inference refuses the removal by name.
        let removal = EntityMappingDescription("Cat", from: "Cat", to: nil)
        #expect(try MappingModel(MappingDescription([removal])).entityMappings.isEmpty)
    }
}

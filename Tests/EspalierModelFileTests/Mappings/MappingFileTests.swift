// Mapping files: the real ones are read, expressions of every kind get their meaning, and broken files are typed errors
// that say where.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

enum MappingFiles {
    static let paths: [String] = RealModels.paths(endingWith: ".xcmappingmodel")

    static func description(_ path: String) throws -> MappingDescription {
        try MappingDescription(contentsOf: RealModels.url(path))
    }

    static func bytes(_ path: String) throws -> Data {
        try Data(contentsOf: RealModels.url(path).appending(path: "xcmapping.xml"))
    }

    /// A file with one entity mapping, whose objects have these elements.
    static func file(entity: String = "", attribute: String = "", relationship: String = "") -> Data {
        func object(_ type: String, _ id: String, _ content: String) -> String {
            "<object type=\"\(type)\" id=\"\(id)\">\(content)</object>\n"
        }
        func value(_ name: String, _ text: String) -> String { "<attribute name=\"\(name)\">\(text)</attribute>" }
        func link(_ name: String, _ ids: String) -> String {
            "<relationship name=\"\(name)\" idrefs=\"\(ids)\"></relationship>"
        }
        let ends = value("sourcename", "Cat") + value("destinationname", "Pet")
        let parts = link("attributemappings", "z3") + link("relationshipmappings", "z4")
        return Data(
            ("<?xml version=\"1.0\"?>\n<database>\n"
                + object("XDDEVMAPPINGMODEL", "z1", link("entitymappings", "z2"))
                + object("XDDEVENTITYMAPPING", "z2", ends + parts + entity)
                + object("XDDEVATTRIBUTEMAPPING", "z3", value("name", "age") + attribute)
                + object("XDDEVRELATIONSHIPMAPPING", "z4", value("name", "owner") + relationship) + "</database>").utf8)
    }

    static func attribute(_ name: String, _ text: String) -> String {
        "<attribute name=\"\(name)\">\(text)</attribute>"
    }
}

@Suite struct MappingFileTests {
    /// `source -> destination` of each mapping and its properties, `*` for those with a rule.
    private static func summary(_ description: MappingDescription) -> [String] {
        description.entityMappings.map { mapping in
            let properties = mapping.propertyMappings.map { $0.source == .sameName ? $0.name : "\($0.name)*" }
            let ends = "\(mapping.sourceEntityName ?? "-") -> \(mapping.destinationEntityName ?? "-")"
            return "\(mapping.name): \(ends): \(properties.sorted().joined(separator: " "))"
        }
    }

    @Test func `the mapping files of three projects are read as their editor shows them`() throws {
        #expect(MappingFiles.paths.count == 8)
        let moody = "objcio+core-data/Moody"
        #expect(
            Self.summary(try MappingFiles.description("\(moody) 2-Moody 3.xcmappingmodel")) == [
                "MoodToMood: Mood -> Mood: colors continent* country* creatorID date latitude longitude "
                    + "markedForDeletionDate markedForRemoteDeletion rating remoteID",
                "CountryToCountry: Country -> Country: continent markedForDeletionDate moods numberOfMoods "
                    + "numericISO3166Code uniquenessDummy updatedAt",
                "ContinentToContinent: Continent -> Continent: countries markedForDeletionDate moods* "
                    + "numberOfCountries numberOfMoods numericISO3166Code uniquenessDummy updatedAt",
            ])
        let fifth = try MappingFiles.description("\(moody) 5-Moody 6.xcmappingmodel")
        #expect(
            Self.summary(fifth) == [
                "Continent: - -> Continent: countries numericISO3166Code",
                "CountryToCountry: Country -> Country: continent markedForDeletionDate moods numberOfMoods "
                    + "numericISO3166Code uniquenessDummy updatedAt",
                "MoodToMood: Mood -> Mood: colors country creatorID date latitude longitude markedForDeletionDate "
                    + "markedForRemoteDeletion rating remoteID",
            ])
        #expect(fifth.entityMappings.map(\.policyClassName) == [nil, "Migrations.Country5ToCountry6Policy", nil])
        #expect(fifth.sourceModelPath == "Migrations/Moody.xcdatamodeld/Moody 5.xcdatamodel")
        #expect(fifth.destinationModelPath == "Migrations/Moody.xcdatamodeld/Moody 6.xcdatamodel")
    }

    @Test func `expressions of the real files are paths, constants, the time, and what mappings made`() throws {
        var found: [String: PropertyMappingDescription.Source] = [:]
        for path in MappingFiles.paths {
            let file = path.split(separator: "/").last.map { $0.replacing(".xcmappingmodel", with: "") } ?? ""
            for mapping in try MappingFiles.description(path).entityMappings {
                for property in mapping.propertyMappings where property.source != .sameName {
                    found["\(file): \(mapping.name).\(property.name)"] = property.source
                }
            }
        }

        #expect(
            found == [
                "Advanced.EvolutionDemo.V1.FromV2: CreatureToCreature.numberOfFlagella": .keyPath("numberOfFlippers"),
                "Advanced.EvolutionDemo.V2.FromV1: CreatureToCreature.numberOfFlippers": .keyPath("numberOfFlagella"),
                "Advanced.EvolutionDemo.V2.FromV1: CreatureToCreature.hasHead": .constant(.boolean(true)),
                "Version1_to_Version2: EmployeeToEmployee.companyDateFounded": .now,
                "Version1_to_Version2: EmployeeToEmployee.companyName": .constant(.string("Unknown")),
                "Version1_to_Version2: EmployeeToEmployee.companyProfits": .constant(.integer(0)),
                "Version2_to_Version3: EmployeeToCompany.name": .keyPath("companyName"),
                "Version2_to_Version3: EmployeeToCompany.profits": .keyPath("companyProfits"),
                "Version2_to_Version3: EmployeeToCompany.dateFounded": .keyPath("companyDateFounded"),
                "Moody 2-Moody 3: MoodToMood.continent":
                    .following("country.continent", through: "ContinentToContinent"),
                "Moody 2-Moody 3: MoodToMood.country": .following("country", through: "CountryToCountry"),
                "Moody 2-Moody 3: ContinentToContinent.moods": .following("countries.moods", through: "MoodToMood"),
                "Moody 4-Moody 5: CountryToCountry.isoContinent": .keyPath("continent.numericISO3166Code"),
            ])
    }

    // MARK: Expressions

    private typealias Item = ArchiveBuilder.Item

    /// The source of the attribute whose expression is the object that `make` adds.
    private static func source(_ make: (inout ArchiveBuilder) -> Item) throws -> PropertyMappingDescription.Source? {
        var builder = ArchiveBuilder()
        let root = make(&builder)
        let text = builder.archive(root).base64EncodedString(options: .lineLength64Characters)
        let file = MappingFiles.file(attribute: MappingFiles.attribute("valueexpressiondata", text))
        return try MappingDescription(xml: file).entityMappings.first?.propertyMappings.first?.source
    }

    private static func constant(_ builder: inout ArchiveBuilder, _ value: Item) -> Item {
        builder.add("NSConstantValueExpression", [("NSConstantValue", value)])
    }

    private static func variable(_ builder: inout ArchiveBuilder, _ name: String) -> Item {
        let text = builder.add(.text(name))
        return builder.add("NSVariableExpression", [("NSVariable", text)])
    }

    private static func path(_ builder: inout ArchiveBuilder, _ path: String) -> Item {
        let text = builder.add(.text(path))
        let specifier = builder.add("NSKeyPathSpecifierExpression", [("NSKeyPath", text)])
        let source = variable(&builder, "source")
        return function(
            &builder, source, "valueForKeyPath:", [specifier], className: "NSKeyPathExpression")
    }

    private static func function(
        _ builder: inout ArchiveBuilder, _ operand: Item, _ selector: String, _ arguments: [Item],
        className: String = "NSFunctionExpression"
    ) -> Item {
        let (name, list) = (builder.add(.text(selector)), builder.list(arguments))
        return builder.add(
            className, [("NSOperand", operand), ("NSSelectorName", name), ("NSArguments", list)])
    }

    @Test func `constants of every kind are values`() throws {
        let constants: [(Item, AttributeValue)] = [
            (.text("größer 🎻"), .string("größer 🎻")), (.text(""), .string("")), (.integer(-3), .integer(-3)),
            (.real(1.5), .double(1.5)), (.boolean(false), .boolean(false)), (.data([1, 2]), .binary(Data([1, 2]))),
        ]
        for (item, value) in constants {
            #expect(try Self.source { Self.constant(&$0, $0.add(item)) } == .constant(value))
        }
        let date = Date(timeIntervalSinceReferenceDate: 86_400)
        #expect(
            try Self.source { Self.constant(&$0, $0.add("NSDate", [("NS.time", .real(86_400))])) }
                == .constant(.date(date)))
        #expect(try Self.source { Self.constant(&$0, .reference(0)) } == .constant(.null))
        #expect(
            try Self.source {
                Self.constant(&$0, $0.add("NSMutableString", [("NS.string", .text("Katze"))]))
            } == .constant(.string("Katze")))
    }

    @Test func `what a mapping made is followed, and other functions are kept as text`() throws {
        func successors(_ path: String?) throws -> PropertyMappingDescription.Source? {
            try Self.source { builder in
                let name = Self.constant(&builder, builder.add(.text("HouseToHome")))
                let from = path.map { Self.path(&builder, $0) } ?? Self.variable(&builder, "source")
                let manager = Self.variable(&builder, "manager")
                return Self.function(
                    &builder, manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", [name, from])
            }
        }
        #expect(try successors("street.houses") == .following("street.houses", through: "HouseToHome"))
        #expect(
            try successors("streets.@distinctUnionOfSets.houses")
                == .following("streets.houses", through: "HouseToHome"))
        #expect(try successors(nil) == .made(by: "HouseToHome"))

        let unknown = try Self.source { builder in
            let path = Self.path(&builder, "name")
            return Self.function(&builder, path, "uppercaseString", [])
        }
        #expect(unknown == .expression("uppercaseString($source.name)"))
        #expect(try Self.source { Self.path(&$0, "visits.@count") } == .expression("$source.visits.@count"))
        #expect(try Self.source { Self.variable(&$0, "source") } == .expression("$source"))
        #expect(try Self.source { Self.variable(&$0, "entityMapping") } == .expression("$entityMapping"))
    }

    @Test func `an expression that contains itself ends`() throws {
        let source = try Self.source { builder in
            // The next objects are the class and the expression itself.
            let name = builder.add(.text("lowercase:"))
            guard case .reference(let number) = name else { return name }
            return builder.add(
                "NSFunctionExpression", [("NSOperand", .reference(number + 2)), ("NSSelectorName", name)])
        }

        guard case .expression(let text)? = source else {
            Issue.record("\(String(describing: source))")
            return
        }
        #expect(text.hasPrefix("lowercase:(lowercase:(") && text.contains("…"))
    }

    @Test func `conditions, key paths and requests for the source are read`() throws {
        var builder = ArchiveBuilder()
        let root = Self.variable(&builder, "everything")
        let fetch = builder.archive(root).base64EncodedString()
        let file = MappingFiles.file(
            entity: MappingFiles.attribute("sourcefilterpredicatestring", "lives &gt; 3")
                + MappingFiles.attribute("sourceexpressiondata", fetch),
            relationship: MappingFiles.attribute("sourcekeypath", "$source")
                + MappingFiles.attribute("sourcemappingname", "CatToOwner"))

        let mapping = try #require(try MappingDescription(xml: file).entityMappings.first)

        #expect(mapping.predicateFormat == "lives > 3" && mapping.sourceExpression == "$everything")
        #expect(mapping.propertyMappings == [.init("age", .sameName), .init("owner", .made(by: "CatToOwner"))])
        // The editor's own request counts only if it says so.
        let generated = MappingFiles.file(
            entity: MappingFiles.attribute("autogenerateexpression", "1")
                + MappingFiles.attribute("sourceexpressiondata", fetch))
        #expect(try MappingDescription(xml: generated).entityMappings.first?.sourceExpression == nil)
    }

    // MARK: Limits

    /// The error of a file in which an attribute has the expression that `make` adds, and is named `count` times.
    private static func refusal(count: Int = 1, _ make: (inout ArchiveBuilder) -> Item) throws -> ModelFileError {
        var builder = ArchiveBuilder()
        let root = make(&builder)
        let text = builder.archive(root).base64EncodedString()
        let file = MappingFiles.file(attribute: MappingFiles.attribute("valueexpressiondata", text))
        let links = [String](repeating: "z3", count: count).joined(separator: " ")
        let changed = String(decoding: file, as: UTF8.self).replacing("idrefs=\"z3\"", with: "idrefs=\"\(links)\"")
        return try #require(throws: ModelFileError.self) {
            try MappingDescription(xml: Data(changed.utf8), path: "f")
        }
    }

    private static let tooManyParts =
        "f: line 5: entity mapping 'CatToPet', property 'age': valueexpressiondata has too many parts; write a simpler "
        + "expression, or set the value in a migration policy"

    @Test func `an expression that lists itself many times is refused in bounded time, with its property`() throws {
        let error = try Self.refusal { builder in
            // The next objects are the class of lists, the list, the class of functions, and the function itself.
            let name = builder.add(.text("lowercase:"))
            guard case .reference(let number) = name else { return name }
            let arguments = builder.list([Item](repeating: .reference(number + 4), count: 16))
            return builder.add("NSFunctionExpression", [("NSSelectorName", name), ("NSArguments", arguments)])
        }

        #expect(error.description == Self.tooManyParts)
        #expect(error.problems.map(\.kind) == [.tooLarge])
    }

    @Test func `a long text is read once, and refused where an expression names it again and again`() throws {
        let text = String(repeating: "ä", count: 20_000)
        #expect(try Self.source { Self.constant(&$0, $0.add(.text(text))) } == .constant(.string(text)))

        let error = try Self.refusal { builder in
            let constant = Self.constant(&builder, builder.add(.text(text)))
            let list = Self.function(&builder, constant, "from:", [Item](repeating: constant, count: 15))
            return Self.function(&builder, list, "from:", [Item](repeating: list, count: 15))
        }

        #expect(error.description == Self.tooManyParts)
    }

    @Test func `all expressions of a file together have a limit`() throws {
        // Each of the first 11 is within the limits.
        let error = try Self.refusal(count: 12) { builder in
            let name = builder.add(.text("max:"))
            let arguments = builder.add("NSArray", [("NS.objects", .copies(.null, 8_500))])
            return builder.add("NSFunctionExpression", [("NSSelectorName", name), ("NSArguments", arguments)])
        }

        #expect(error.description == Self.tooManyParts)
    }

    @Test func `a file that names its objects again and again is refused`() throws {
        let error = try Self.refusal(count: 65_537) { Self.variable(&$0, "source") }

        #expect(
            error.description
                == "f: line 4: entity mapping 'CatToPet': attributemappings: the file follows more than 65536 "
                + "references; name each object once")
    }

    @Test func `an object of long texts that a file names again and again is refused`() throws {
        let path = String(repeating: "street.", count: 10_000) + "name"
        func description(count: Int) throws(ModelFileError) -> MappingDescription {
            let file = MappingFiles.file(relationship: MappingFiles.attribute("sourcekeypath", path))
            let links = [String](repeating: "z4", count: count).joined(separator: " ")
            let text = String(decoding: file, as: UTF8.self).replacing("idrefs=\"z4\"", with: "idrefs=\"\(links)\"")
            return try MappingDescription(xml: Data(text.utf8), path: "f")
        }
        // Each text may be read once, and 16 MiB of all of them again.
        #expect(try description(count: 20).entityMappings.first?.propertyMappings.count == 21)
        let error = try #require(throws: ModelFileError.self) { try description(count: 300) }

        #expect(
            error.description
                == "f: line 4: entity mapping 'CatToPet': relationshipmappings: the objects that are named again and "
                + "again have more than 16777216 bytes of text; name each object once")
        #expect(error.problems.map(\.kind) == [.tooLarge])
    }

    // MARK: Errors

    @Test func `what is wrong is reported with line, mapping and remedy`() throws {
        func problems(_ change: (inout String) -> Void) -> [String] {
            var text = String(decoding: MappingFiles.file(), as: UTF8.self)
            change(&text)
            do throws(ModelFileError) {
                _ = try MappingDescription(xml: Data(text.utf8))
                return []
            } catch {
                return error.problems.map { "\($0)" }
            }
        }
        #expect(problems { _ in } == [])
        #expect(
            problems { $0 = $0.replacing("idrefs=\"z2\"", with: "idrefs=\"z2 z9\"") } == [
                "line 3: the mapping model: entitymappings: there is no object 'z9' of type XDDEVENTITYMAPPING"
            ])
        #expect(
            problems { $0 = $0.replacing("idrefs=\"z3\"", with: "idrefs=\"z4\"") } == [
                "line 4: entity mapping 'CatToPet': attributemappings: there is no object 'z4' of type "
                    + "XDDEVATTRIBUTEMAPPING"
            ])
        #expect(
            problems { $0 = $0.replacing("id=\"z4\"", with: "id=\"z3\"") }.first
                == "line 6: XDDEVRELATIONSHIPMAPPING 'z3': another object has the same id")
        #expect(
            problems { $0 = $0.replacing("XDDEVMAPPINGMODEL", with: "XDDEVMAPPING") } == [
                "line 2: the file has 0 mapping models; it must have one object of type XDDEVMAPPINGMODEL"
            ])
        #expect(
            problems { $0 = $0.replacing("database>", with: "model>") } == [
                "line 2: a mapping file begins with <database>, not with <model>"
            ])
        #expect(
            problems { $0 = $0.replacing(">age<", with: "><") } == [
                "line 5: entity mapping 'CatToPet': a property mapping needs a name"
            ])
        let nameless = problems { text in
            text = text.replacing(">Cat<", with: "><").replacing(">Pet<", with: "><")
        }
        #expect(
            nameless == ["line 4: entity mapping '': needs a sourcename, a destinationname or both"])
        let damaged = MappingFiles.file(attribute: MappingFiles.attribute("valueexpressiondata", "YnBsaXN0"))
        #expect(
            problems { $0 = String(decoding: damaged, as: UTF8.self) } == [
                "line 5: entity mapping 'CatToPet', property 'age': valueexpressiondata is not the archive of an "
                    + "expression"
            ])
    }

    @Test func `a compiled mapping model is refused with the file to pass instead`() throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "Map.cdm")
            try Data("bplist00 and more".utf8).write(to: file)

            let error = #expect(throws: ModelFileError.self) { try MappingDescription(contentsOf: file) }

            #expect(error?.problems.map(\.kind) == [.wrongKindOfFile] && error?.path == file.path)
            #expect(error?.description.contains(".xcmappingmodel") == true)
        }
    }

    @Test func `a folder without a file, and a path that does not exist, are refused`() throws {
        try withTemporaryFolder { folder in
            let error = #expect(throws: ModelFileError.self) { try MappingDescription(contentsOf: folder) }
            #expect(error?.problems.map(\.kind) == [.missingContents])
            let missing = #expect(throws: ModelFileError.self) {
                try MappingDescription(contentsOf: folder.appending(path: "A.xcmappingmodel"))
            }
            #expect(missing?.problems.map(\.kind) == [.notFound])
        }
    }

    @Test func `changed mapping files are descriptions or errors that say where, and never trap`() throws {
        let files = try MappingFiles.paths.map { try MappingFiles.bytes($0) } + [MappingFiles.file()]
        let seed = testSeed(default: 2029)
        var descriptions = 0
        let count = UInt64(campaignCount("ESPALIER_MAPPING_MUTATIONS", default: 300))
        for number in 0..<count {
            var random = SeededGenerator(seed: seed &+ number)
            var bytes = Array(files.randomElement(using: &random) ?? Data())
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                if Bool.random(using: &random) {
                    bytes[place] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
                }
            }
            do throws(ModelFileError) {
                _ = try MappingDescription(xml: Data(bytes))
                descriptions += 1
            } catch {
                #expect(error.problems.allSatisfy { $0.line != nil }, "seed \(seed &+ number): \(error)")
            }
        }
        #expect(descriptions > 0 && descriptions < count)
    }
}

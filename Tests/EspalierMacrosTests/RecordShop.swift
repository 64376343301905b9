// Classes with every kind of property that a typed predicate can name, and the same records in three contexts: saved in
// a file, saved in memory, and not saved.

import Espalier
import Foundation
import TestSupport

enum Format: String, CaseIterable, Codable, AttributeConvertible, Comparable {
    // The order in Swift is not that of the raw values.
    case vinyl, tape, disc

    static func < (left: Format, right: Format) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

@Entity final class Singer: ManagedObject {
    @Attribute(.indexed) var name: String = ""
    var born: Int?
    var rival: Singer?
    var records: ToMany<Record>
    var home: Hometown?
}

@Entity final class Hometown: ManagedObject {
    var name: String = ""
    var size: Int = 0
}

@Entity class Record: ManagedObject {
    @Attribute(.indexed) var title: String = ""
    @Attribute(.indexed) var year: Int = 0
    var small: Int16 = 0
    var price: Decimal = 0
    var weight: Double = 0
    var gain: Float = 0
    var isLive: Bool = false
    var isMono: Bool?
    var released: Date?
    var note: String?
    var stars: Int?
    var loudness: Double?
    var code: UUID?
    var cover: Data?
    var format: Format = .vinyl
    var spare: Format?
    @Relationship(inverse: \Singer.records) var singer: Singer?
    @Relationship(inverse: \Song.record) var songs: OrderedToMany<Song>
    var guests: Set<Singer>

    var shortTitle: String { String(title.prefix(3)) }
}

@Entity final class BoxSet: Record {
    var discCount: Int = 1
}

@Entity final class Song: ManagedObject {
    var name: String = ""
    var length: Int = 0
    var record: Record?
}

/// Texts whose characters, scalars and bytes differ.
let trickyTexts = [
    "", "a", "A", "b", "Nina", "nina", "Nilsson", "e", "é", "e\u{301}", "x\u{323}\u{307}", "x\u{307}\u{323}", "\r\n",
    "\n",
    "a\r\nb", "👨‍👩‍👧", "👨", "🇩🇪🇫🇷", "🇪🇫", "ẞ", "ss", "가", "\u{1100}\u{1161}", "Ñandú", "N\u{303}a",
]

struct RecordShop {
    /// Each with a name for messages.
    let contexts: [(name: String, context: ManagedObjectContext)]
    private let containers: [PersistentContainer]

    static let classes: [ManagedObject.Type] = [Singer.self, Hometown.self, Record.self, BoxSet.self, Song.self]

    /// Shops in `folder` with the same `count` records, made from `seed`.
    init(count: Int, seed: UInt64, in folder: URL) throws {
        let model = try ManagedObjectModel(for: Self.classes)
        let path = folder.appending(path: "shop.espalier").path
        let stores: [(String, PersistentStoreDescription)] = [
            ("file", PersistentStoreDescription(path: path)), ("memory", .inMemory), ("unsaved", .inMemory),
        ]
        containers = try stores.map { try PersistentContainer(model: model, stores: [$0.1]) }
        var contexts: [(String, ManagedObjectContext)] = []
        for (position, container) in containers.enumerated() {
            let writer = ManagedObjectContext(container.persistentStoreCoordinator)
            Self.fill(writer, count: count, seed: seed)
            let isSaved = stores[position].0 != "unsaved"
            if isSaved { try writer.save() }
            contexts.append(
                (
                    stores[position].0,
                    isSaved ? ManagedObjectContext(container.persistentStoreCoordinator) : writer
                ))
        }
        self.contexts = contexts
    }

    private static func fill(_ context: ManagedObjectContext, count: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }
        func maybe<Value>(_ value: Value) -> Value? { Int.random(in: 0..<3, using: &random) == 0 ? nil : value }
        let towns = (0..<3).map { number in
            let town = Hometown(context: context)
            (town.name, town.size) = (pick(trickyTexts), number)
            return town
        }
        let singers = (0..<6).map { _ in
            let singer = Singer(context: context)
            (singer.name, singer.born, singer.home) = (
                pick(trickyTexts), maybe(Int.random(in: 1...4, using: &random)), maybe(pick(towns))
            )
            return singer
        }
        for singer in singers { singer.rival = maybe(pick(singers)) }
        for number in 0..<count {
            let record: Record
            if number.isMultiple(of: 4) {
                let box = BoxSet(context: context)
                box.discCount = Int.random(in: 1...3, using: &random)
                record = box
            } else {
                record = Record(context: context)
            }
            record.title = pick(trickyTexts) + (maybe(pick(trickyTexts)) ?? "")
            record.year = Int.random(in: -2...6, using: &random)
            record.small = Int16.random(in: -2...2, using: &random)
            record.price = Decimal(Int.random(in: -3...3, using: &random)) / 4
            record.weight = pick([0, -0.0, 0.5, 1, -1.5, 1e300, .infinity])
            record.gain = pick([0, 0.1, 0.5, -1, 3])
            (record.isLive, record.isMono) = (Bool.random(using: &random), maybe(Bool.random(using: &random)))
            record.released = maybe(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0...3, using: &random))))
            record.note = maybe(pick(trickyTexts))
            record.stars = maybe(Int.random(in: 0...3, using: &random))
            record.loudness = maybe(pick([0, 1.5, -2]))
            record.code = maybe(UUID(uuid: (UInt8(number % 3), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
            record.cover = maybe(Data([UInt8(number % 3)]))
            (record.format, record.spare) = (pick(Format.allCases), maybe(pick(Format.allCases)))
            record.singer = maybe(pick(singers))
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let song = Song(context: context)
                (song.name, song.length) = (pick(trickyTexts), Int.random(in: 0...4, using: &random))
                record.songs.append(song)
            }
            for singer in singers where Int.random(in: 0..<4, using: &random) == 0 { record.guests.insert(singer) }
        }
    }
}

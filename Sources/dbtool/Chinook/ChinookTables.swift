// The Chinook library as published: the rows of `ChinookData.json`.
//
// Invariants
//   1. The file contains "" where Chinook's database has NULL; optional texts read that as nil.
//   2. Points in time have no zone in the file and are read as UTC.

import Foundation

/// All rows, table by table.
struct ChinookTables: Decodable {
    struct GenreRow: Decodable { let genreID: Int, name: OptionalText }
    struct MediaTypeRow: Decodable { let mediaTypeID: Int, name: OptionalText }
    struct ArtistRow: Decodable { let artistID: Int, name: OptionalText }
    struct AlbumRow: Decodable { let albumID: Int, title: String, artistID: Int }
    struct TrackRow: Decodable {
        let trackID: Int, name: String, albumID: Int?, mediaTypeID: Int, genreID: Int?, composer: OptionalText
        let milliseconds: Int, bytes: Int?, unitPrice: Decimal
    }
    struct EmployeeRow: Decodable {
        let employeeID: Int, lastName: String, firstName: String, title: OptionalText, reportsTo: Int?
        let birthDate: Date?, hireDate: Date?
        let address, city, state, country, postalCode, phone, fax, email: OptionalText
    }
    struct CustomerRow: Decodable {
        let customerID: Int, firstName: String, lastName: String, company: OptionalText
        let address, city, state, country, postalCode, phone, fax, email: OptionalText
        let supportRepID: Int?
    }
    struct InvoiceRow: Decodable {
        let invoiceID: Int, customerID: Int, invoiceDate: Date, total: Decimal
        let billingAddress, billingCity, billingState, billingCountry, billingPostalCode: OptionalText
    }
    struct InvoiceLineRow: Decodable {
        let invoiceLineID: Int, invoiceID: Int, trackID: Int, unitPrice: Decimal, quantity: Int
    }
    struct PlaylistRow: Decodable { let playlistID: Int, name: OptionalText }
    struct PlaylistTrackRow: Decodable { let playlistID: Int, trackID: Int }

    let genre: [GenreRow]
    let mediaType: [MediaTypeRow]
    let artist: [ArtistRow]
    let album: [AlbumRow]
    let track: [TrackRow]
    let employee: [EmployeeRow]
    let customer: [CustomerRow]
    let invoice: [InvoiceRow]
    let invoiceLine: [InvoiceLineRow]
    let playlist: [PlaylistRow]
    let playlistTrack: [PlaylistTrackRow]

    /// The name and row count of each of Chinook's tables, in the order in which they are imported.
    var counts: [(table: String, rowCount: Int)] {
        [
            ("Genre", genre.count), ("MediaType", mediaType.count), ("Artist", artist.count), ("Album", album.count),
            ("Track", track.count), ("Employee", employee.count), ("Customer", customer.count),
            ("Invoice", invoice.count), ("InvoiceLine", invoiceLine.count), ("Playlist", playlist.count),
            ("PlaylistTrack", playlistTrack.count),
        ]
    }

    /// The number of rows in all tables: 15,607.
    var rowCount: Int { counts.reduce(0) { $0 + $1.rowCount } }

    /// Reads the data file of dbtool.
    static func load() throws(ToolError) -> ChinookTables {
        let file = try ChinookData.file(beside: Bundle.main.executableURL)
        do {
            return try decoder.decode(ChinookTables.self, from: Data(contentsOf: file))
        } catch {
            throw .file(path: file.path, reason: "cannot be read: \(error)")
        }
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in ColumnName(path.last?.stringValue ?? "") }
        decoder.dateDecodingStrategy = .custom { decoder in
            let text = try decoder.singleValueContainer().decode(String.self)
            return try Date(text + "Z", strategy: .iso8601)
        }
        return decoder
    }
}

/// A column of Chinook under its name in this code: `AlbumId` is `albumID`.
private struct ColumnName: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init(_ column: String) {
        let name = column.hasSuffix("Id") ? column.dropLast(2) + "ID" : column[...]
        stringValue = name.prefix(1).lowercased() + name.dropFirst()
    }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}

/// A text that may be missing.
struct OptionalText: Decodable {
    /// The text, unless it is empty.
    let text: String?

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = container.decodeNil() ? "" : try container.decode(String.self)
        self.text = text.isEmpty ? nil : text
    }
}

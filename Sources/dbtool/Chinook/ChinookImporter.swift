// Imports the Chinook library into a store, using only the public object API.
//
// Invariants
//   1. Rows are imported table by table and row by row, always in the same order: after any commit the store holds
//      exactly the first n rows, and n is the argument of `didCommit`.
//   2. Relationships are set on one side only; the context keeps the inverse.

import Espalier
import EspalierModel

/// An import in progress.
struct ChinookImporter {
    private let context: ManagedObjectContext
    private let commitInterval: Int?
    private let didStep: (Int) -> Void
    private let didCommit: (Int) throws(ToolError) -> Void
    private let path: String
    private var rowCount = 0

    private var genres: [Int: Genre] = [:]
    private var mediaTypes: [Int: MediaType] = [:]
    private var artists: [Int: Artist] = [:]
    private var albums: [Int: Album] = [:]
    private var tracks: [Int: Track] = [:]
    private var employees: [Int: Employee] = [:]
    private var customers: [Int: Customer] = [:]
    private var invoices: [Int: Invoice] = [:]
    private var playlists: [Int: Playlist] = [:]

    /// An importer into `context`.
    ///
    /// - Parameters:
    ///   - commitInterval: the number of rows per commit; `nil` = all.
    ///   - didStep: called after each row with the number of rows so far.
    ///   - didCommit: called after each commit with the number of durable rows.
    init(
        into context: ManagedObjectContext, path: String, commitInterval: Int?, didStep: @escaping (Int) -> Void,
        didCommit: @escaping (Int) throws(ToolError) -> Void
    ) {
        self.context = context
        self.path = path
        self.commitInterval = commitInterval
        self.didStep = didStep
        self.didCommit = didCommit
    }

    /// Imports all rows and commits them.
    mutating func run(_ tables: ChinookTables) throws(ToolError) {
        try importMusic(tables)
        try importPeople(tables)
        try importSales(tables)
        try importPlaylists(tables)
        try commit()
    }

    private mutating func importMusic(_ tables: ChinookTables) throws(ToolError) {
        for row in tables.genre {
            let genre = Genre(context: context)
            (genre.genreID, genre.name) = (row.genreID, row.name.text)
            genres[row.genreID] = genre
            try step()
        }
        for row in tables.mediaType {
            let mediaType = MediaType(context: context)
            (mediaType.mediaTypeID, mediaType.name) = (row.mediaTypeID, row.name.text)
            mediaTypes[row.mediaTypeID] = mediaType
            try step()
        }
        for row in tables.artist {
            let artist = Artist(context: context)
            (artist.artistID, artist.name) = (row.artistID, row.name.text)
            artists[row.artistID] = artist
            try step()
        }
        for row in tables.album {
            let album = Album(context: context)
            (album.albumID, album.title, album.artist) = (row.albumID, row.title, artists[row.artistID])
            albums[row.albumID] = album
            try step()
        }
        for row in tables.track {
            let track = Track(context: context)
            (track.trackID, track.name, track.composer) = (row.trackID, row.name, row.composer.text)
            (track.milliseconds, track.bytes, track.unitPrice) = (row.milliseconds, row.bytes, row.unitPrice)
            track.album = row.albumID.flatMap { albums[$0] }
            track.genre = row.genreID.flatMap { genres[$0] }
            track.mediaType = mediaTypes[row.mediaTypeID]
            tracks[row.trackID] = track
            try step()
        }
    }

    private mutating func importPeople(_ tables: ChinookTables) throws(ToolError) {
        for row in tables.employee {
            let employee = Employee(context: context)
            (employee.employeeID, employee.firstName, employee.lastName) = (row.employeeID, row.firstName, row.lastName)
            (employee.title, employee.birthDate, employee.hireDate) = (row.title.text, row.birthDate, row.hireDate)
            (employee.address, employee.city, employee.state) = (row.address.text, row.city.text, row.state.text)
            (employee.country, employee.postalCode) = (row.country.text, row.postalCode.text)
            (employee.phone, employee.fax, employee.email) = (row.phone.text, row.fax.text, row.email.text)
            // Chinook lists every employee after the one to whom the employee reports.
            employee.manager = row.reportsTo.flatMap { employees[$0] }
            employees[row.employeeID] = employee
            try step()
        }
        for row in tables.customer {
            let customer = Customer(context: context)
            (customer.customerID, customer.firstName, customer.lastName) = (row.customerID, row.firstName, row.lastName)
            (customer.company, customer.supportRep) = (row.company.text, row.supportRepID.flatMap { employees[$0] })
            (customer.address, customer.city, customer.state) = (row.address.text, row.city.text, row.state.text)
            (customer.country, customer.postalCode) = (row.country.text, row.postalCode.text)
            (customer.phone, customer.fax, customer.email) = (row.phone.text, row.fax.text, row.email.text)
            customers[row.customerID] = customer
            try step()
        }
    }

    private mutating func importSales(_ tables: ChinookTables) throws(ToolError) {
        for row in tables.invoice {
            let invoice = Invoice(context: context)
            (invoice.invoiceID, invoice.invoiceDate, invoice.total) = (row.invoiceID, row.invoiceDate, row.total)
            (invoice.billingAddress, invoice.billingCity) = (row.billingAddress.text, row.billingCity.text)
            (invoice.billingState, invoice.billingCountry) = (row.billingState.text, row.billingCountry.text)
            (invoice.billingPostalCode, invoice.customer) = (row.billingPostalCode.text, customers[row.customerID])
            invoices[row.invoiceID] = invoice
            try step()
        }
        for row in tables.invoiceLine {
            let line = InvoiceLine(context: context)
            (line.invoiceLineID, line.unitPrice, line.quantity) = (row.invoiceLineID, row.unitPrice, row.quantity)
            (line.invoice, line.track) = (invoices[row.invoiceID], tracks[row.trackID])
            try step()
        }
    }

    private mutating func importPlaylists(_ tables: ChinookTables) throws(ToolError) {
        for row in tables.playlist {
            let playlist = Playlist(context: context)
            (playlist.playlistID, playlist.name) = (row.playlistID, row.name.text)
            playlists[row.playlistID] = playlist
            try step()
        }
        for row in tables.playlistTrack {
            if let track = tracks[row.trackID] { playlists[row.playlistID]?.tracks.insert(track) }
            try step()
        }
    }

    private mutating func step() throws(ToolError) {
        rowCount += 1
        didStep(rowCount)
        if let commitInterval, rowCount.isMultiple(of: commitInterval) { try commit() }
    }

    private func commit() throws(ToolError) {
        do {
            try context.save()
        } catch {
            throw .context(error, path: path)
        }
        try didCommit(rowCount)
    }
}

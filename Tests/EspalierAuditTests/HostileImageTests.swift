// Claims of a file: none costs more memory or time than the size of the file justifies, and none traps.
//
// Each campaign runs in its own process, so that its peak of memory is that of the images alone.

import Foundation
import TestSupport
import Testing

@testable import EspalierAudit

@Suite struct HostileImageTests {
    /// The bytes that a visit may use beside twice the files: caches, buffers and the simulated file system.
    private static let freeByteCount = 8 << 20
    private static let secondsMax = 30.0

    @Test func `a file that claims huge things costs no memory beyond its size`() async {
        await #expect(processExitsWith: .success) {
            let images = try HostileImage.all(claimCount: campaignCount("ESPALIER_AUDIT_CLAIMS", default: 2))
            precondition(images.count >= 100, "\(images.count) images")
            let good = HostileImage(name: "good", files: try SampleStores.open())
            good.visit()
            for image in images {
                let before = Self.resetPeak()
                let begun = ContinuousClock.now
                image.visit()
                let growth = Self.peak() - before
                let allowed = 2 * (image.files.store.count + (image.files.log?.count ?? 0)) + Self.freeByteCount
                precondition(growth <= allowed, "\(image.name): \(growth) bytes, \(allowed) are allowed")
                let seconds = (ContinuousClock.now - begun) / .seconds(1)
                precondition(seconds < Self.secondsMax, "\(image.name): \(seconds) seconds")
            }
        }
    }

    @Test func `a hole of terabytes and a forged page count cost neither memory nor time`() async {
        await #expect(processExitsWith: .success) {
            let files = try SampleStores.closed()
            var forged = files
            forged.set(UInt32.max, at: files.newestSlotOffset + 24)
            forged.sealSlot((files.newestSlotOffset - 512) / 512)
            _ = try StoreAudit.run(store: files.store, log: nil)
            let before = Self.resetPeak()
            let begun = ContinuousClock.now

            let sound = try StoreAudit.run(store: SparseSource(files.store, byteCount: 20 << 30), log: nil)
            let hole = SparseSource(forged.store, byteCount: 4096 << 32)
            let claimed = try StoreAudit.run(store: hole, log: nil)

            // There would be 131,072 bitmap pages.
            precondition(hole.readCount < 1000, "\(hole.readCount) reads")
            precondition(sound.isOK, "\(sound.findings.list)")
            precondition(!claimed.isOK, "a forged page count is in order")
            let growth = Self.peak() - before
            precondition(growth <= Self.freeByteCount, "\(growth) bytes")
            let seconds = (ContinuousClock.now - begun) / .seconds(1)
            precondition(seconds < Self.secondsMax, "\(seconds) seconds")
        }
    }

    /// The path of the tool; `nil` if this build did not make it.
    private static var tool: String? {
        let path = Checkout.products.appending(path: "dbtool").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    @Test(.enabled(if: tool != nil), arguments: ["audit", "check", "info", "pages", "page", "dump"])
    func `no verb of the tool is killed, or takes a gigabyte, for what a file claims`(verb: String) throws {
        let tool = try #require(Self.tool)
        let images = try HostileImage.all(claimCount: 1)
        let step = campaignCount("ESPALIER_AUDIT_TOOL_STEP", default: 23)
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "forged.espalier").path
            for index in stride(from: 0, to: images.count, by: step) {
                let image = images[index]
                try Data(image.files.store).write(to: URL(fileURLWithPath: path))
                try Data(image.files.log ?? []).write(to: URL(fileURLWithPath: path + "-wal"))
                let page = verb == "page" ? " 3" : ""
                let run = try Command("/bin/sh", ["-c", "ulimit -v 1048576; exec '\(tool)' \(verb) '\(path)'\(page)"])

                #expect((0...4).contains(run.code), "\(verb), \(image.name): \(run.code) \(run.errors)")
            }
        }
    }

    /// Sets the peak of the process to its present size in bytes, and returns it.
    private static func resetPeak() -> Int {
        // "5" resets the peak of the resident set (proc(5)); if that is not allowed, the peak only grows.
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        return peak()
    }

    /// The peak of the resident set in bytes.
    private static func peak() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        return (number.flatMap { Int($0) } ?? 0) << 10
    }
}

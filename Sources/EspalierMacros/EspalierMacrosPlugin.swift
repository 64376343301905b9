// The compiler plug-in's entry point: answers the compiler's requests over standard input and output.
//
// `SwiftCompilerPlugin` is not part of the toolchain's own libraries, so the connection is made here by hand.

@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

@main
struct EspalierMacrosPlugin: PluginProvider {
    static func main() throws {
        let listener = CompilerPluginMessageListener(
            connection: try StandardIOMessageConnection(), provider: EspalierMacrosPlugin())
        try listener.main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type { throw UnknownMacro(typeName) }
}

struct UnknownMacro: Error {
    let typeName: String
    init(_ typeName: String) { self.typeName = typeName }
}

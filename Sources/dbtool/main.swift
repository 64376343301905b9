// dbtool: looks into Espalier files from a command line.

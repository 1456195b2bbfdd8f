-- Version 6 of the schema as that version made it, with data as it wrote it. Never changed: see postgres-migrations.test.ts
CREATE SCHEMA palimpsest;
CREATE TABLE palimpsest.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE SEQUENCE palimpsest.batches;
CREATE TABLE palimpsest.texts (
  tenant text COLLATE "C" NOT NULL,
  handle text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  digest bytea NOT NULL,
  bytes bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant, handle)
);
CREATE UNIQUE INDEX texts_by_age ON palimpsest.texts (tenant, seq);
CREATE TABLE palimpsest.refs (
  tenant text COLLATE "C" NOT NULL,
  handle text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  seq bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  tool text NOT NULL,
  PRIMARY KEY (tenant, handle, key)
);
CREATE INDEX refs_by_session ON palimpsest.refs (tenant, session, seq);
CREATE TABLE palimpsest.turns (
  tenant text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant, session, turn)
);
CREATE TABLE palimpsest.notes (
  tenant text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant, session, name)
);
CREATE TABLE palimpsest.secrets (tenant text COLLATE "C" PRIMARY KEY, secret text NOT NULL);
ALTER TABLE palimpsest.texts ADD COLUMN at timestamptz NOT NULL DEFAULT now();
ALTER TABLE palimpsest.refs ADD COLUMN at timestamptz NOT NULL DEFAULT now();
ALTER TABLE palimpsest.turns ADD COLUMN at timestamptz NOT NULL DEFAULT now();
INSERT INTO palimpsest.migrations (version) SELECT generate_series(1, 6);

SELECT setval('palimpsest.batches', 3);
INSERT INTO palimpsest.texts (tenant, handle, seq, digest, bytes, body, at) VALUES
  ('default', 'p_2jx4d5c7sjnpc7rbh2jm7w3y34', 1048576, '\xd26fc1f45f925af17e213e92cfdb78df2c95cbdb27d82f13e647756fb938ba1c', 15, '\x6669727374206b6570742074657874', '2026-11-01 10:00:00+00');
INSERT INTO palimpsest.refs (tenant, handle, key, seq, session, turn, tool, at) VALUES
  ('default', 'p_2jx4d5c7sjnpc7rbh2jm7w3y34', '\x8c6cd263db4d609c2702b896680409f7', 1048576, 's1', 1, '', '2026-11-01 10:00:00+00');
INSERT INTO palimpsest.texts (tenant, handle, seq, digest, bytes, body, at) VALUES
  ('default', 'p_u4qe5n2agjoodayrtsbeugmfup', 2097152, '\xa7204eb740325ce183119c824a1985a3e886cb922ea58e28849887c8da7ad47a', 16, '\x7365636f6e64206b6570742074657874', '2026-11-02 10:00:00+00');
INSERT INTO palimpsest.refs (tenant, handle, key, seq, session, turn, tool, at) VALUES
  ('default', 'p_u4qe5n2agjoodayrtsbeugmfup', '\xfb0003bd33ad768976397a7f0731c088', 2097152, 's1', 2, '"read_file"', '2026-11-02 10:00:00+00');
INSERT INTO palimpsest.texts (tenant, handle, seq, digest, bytes, body, at) VALUES
  ('default', 'p_nxmw2hos6zs434w6lrdns67h2a', 3145728, '\x6dd96d1dd2f665cdf2de5c46d97be7d0323bdf3ba2856490d46137c880f14bd6', 24, '\x61207465787420776974686f757420612073657373696f6e', '2026-11-03 10:00:00+00');
INSERT INTO palimpsest.refs (tenant, handle, key, seq, session, turn, tool, at) VALUES
  ('default', 'p_nxmw2hos6zs434w6lrdns67h2a', '\x470138c56574cdde1a5d9de7c6da7803', 3145728, '', -1, '', '2026-11-03 10:00:00+00');
INSERT INTO palimpsest.turns (tenant, session, turn, body, at) VALUES
  ('default', 's1', 1, '\x7b2273657373696f6e223a227331222c227475726e223a312c22726561736f6e696e67223a2262656361757365222c22616374696f6e223a22726561645f66696c6520612e7473222c226f62736572766174696f6e223a226669727374206b6570742074657874222c226d61736b6564223a66616c73657d', '2026-11-02 11:00:00+00');
INSERT INTO palimpsest.turns (tenant, session, turn, body, at) VALUES
  ('default', 's1', 2, '\x7b2273657373696f6e223a227331222c227475726e223a322c22726561736f6e696e67223a2262656361757365222c22616374696f6e223a22726561645f66696c6520612e7473222c226f62736572766174696f6e223a226669727374206b6570742074657874222c226d61736b6564223a66616c73657d', '2026-11-02 11:00:00+00');
INSERT INTO palimpsest.notes (tenant, session, name, digest, body) VALUES
  ('default', 's1', 'kept', '\xf63e34a034f19a24438f2d74b242bc96682abd843ecc4ea63fefed4006d860a3', '\x61206e6f7465');
INSERT INTO palimpsest.secrets (tenant, secret) VALUES ('default', 'abababababababababababababababababababababababababababababababab');
